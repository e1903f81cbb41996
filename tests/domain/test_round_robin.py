"""Clients take turns, regardless of how many entries each client has waiting."""

from collections import Counter

from pgsched.domain.round_robin import Turns

A, B, BOTH = frozenset("a"), frozenset("b"), frozenset("ab")


def test_clients_take_turns_and_keep_their_own_order() -> None:
    turns = Turns[int]()
    for number in range(3):
        turns.add(A, number)
    turns.add(B, 10)
    assert [turns.take() for _ in range(5)] == [(A, 0), (B, 10), (A, 1), (A, 2), None]
    assert not turns


def test_an_ineligible_client_does_not_block_other_clients() -> None:
    turns = Turns[int]()
    turns.add(A, 1)
    turns.add(B, 2)
    assert turns.take(lambda payers: payers != A) == (B, 2)
    assert turns.take(lambda payers: payers != A) is None
    assert turns.take() == (A, 1)


def test_the_client_that_holds_the_fewest_slots_is_served_first() -> None:
    turns, has = Turns[str](), Counter({"a": 2})
    turns.add(BOTH, "both")
    turns.add(A, "a")
    turns.add(B, "b")
    served = [turns.take(has=lambda payers: max(has[client] for client in payers)) for _ in range(3)]
    assert served == [(B, "b"), (BOTH, "both"), (A, "a")]


def test_a_removed_entry_is_not_served() -> None:
    turns = Turns[int]()
    turns.add(A, 1)
    turns.remove(A, 1)
    turns.remove(B, 1)
    assert not turns
