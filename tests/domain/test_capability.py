"""The capabilities that targets need, and the workers responsible for them."""

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
def test_only_python_kafka_and_sql_targets_need_a_capability(target: str, capability: str | None) -> None:
    assert needs(target) == capability


def test_workers_with_equal_capabilities_form_one_crew() -> None:
    everyone = {number: frozenset({"python:a", "python:b"}) for number in (1, 2, 3)}
    assert crews(everyone[1], everyone) == {(1, 2, 3)}


def test_a_capability_that_some_workers_lack_has_its_own_crew() -> None:
    peers = {1: frozenset[str](), 2: frozenset({"python:a"}), 3: frozenset({"python:a", "kafka:"})}
    assert crews(peers[1], peers) == {(1, 2, 3)}
    assert crews(peers[2], peers) == {(1, 2, 3), (2, 3)}
    assert crews(peers[3], peers) == {(1, 2, 3), (2, 3), (3,)}


@given(st.dictionaries(st.integers(1, 20), st.frozensets(st.sampled_from("abcd")), min_size=1))
def test_every_capability_has_a_responsible_worker_for_each_partition(peers: dict[int, frozenset[str]]) -> None:
    for capability in frozenset[str]().union(*peers.values()):
        for place in range(16):
            responsible = {
                number
                for number, mine in peers.items()
                if capability in mine and any(crew[place % len(crew)] == number for crew in crews(mine, peers))
            }
            assert responsible


def test_left_to_others_lists_only_capabilities_that_this_worker_lacks() -> None:
    others = [frozenset({"python:a", "kafka:"}), frozenset({"python:b"})]
    assert left_to_others(frozenset({"python:a"}), others) == ("kafka:", "python:b")
