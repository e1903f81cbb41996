"""What targets need, and which workers are responsible for what."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgsched.domain.capability import crews, left_to_others, needs


@pytest.mark.parametrize(
    ("target", "capability"),
    [
        ("python:greet", "python:greet"),
        ("kafka:orders", "kafka:"),
        ("sql:billing.settle", "sql:"),
        ("notify:orders", None),
        ("queue:", None),
        ("https://kafka:1/python:x", None),
    ],
)
def test_only_some_targets_need_what_not_every_worker_has(target: str, capability: str | None) -> None:
    assert needs(target) == capability


def test_where_all_can_do_the_same_there_is_one_crew() -> None:
    everyone = {number: frozenset({"python:a", "python:b"}) for number in (1, 2, 3)}
    assert crews(everyone[1], everyone) == {(1, 2, 3)}


def test_what_not_all_can_do_has_a_crew_of_those_who_can() -> None:
    peers = {1: frozenset[str](), 2: frozenset({"python:a"}), 3: frozenset({"python:a", "kafka:"})}
    assert crews(peers[1], peers) == {(1, 2, 3)}
    assert crews(peers[2], peers) == {(1, 2, 3), (2, 3)}
    assert crews(peers[3], peers) == {(1, 2, 3), (2, 3), (3,)}


@given(st.dictionaries(st.integers(1, 20), st.frozensets(st.sampled_from("abcd")), min_size=1))
def test_each_place_of_each_capability_is_somebodys_who_has_it(peers: dict[int, frozenset[str]]) -> None:
    for capability in frozenset[str]().union(*peers.values()):
        for place in range(16):
            responsible = {
                number
                for number, mine in peers.items()
                if capability in mine and any(crew[place % len(crew)] == number for crew in crews(mine, peers))
            }
            assert responsible


def test_left_to_others_is_what_they_have_and_this_one_lacks() -> None:
    others = [frozenset({"python:a", "kafka:"}), frozenset({"python:b"})]
    assert left_to_others(frozenset({"python:a"}), others) == ("kafka:", "python:b")
