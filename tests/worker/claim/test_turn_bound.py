"""Turns are bounded while clients wait for each other's claims."""

from pgsched.worker.claim.client_streams import TurnBound


def test_a_slow_turn_halves_the_next_turns_bound() -> None:
    bound = TurnBound()
    bound.took(0.01, 500, of=500)
    bound.took(0.2, 900, of=1000)
    assert bound.most == 450


def test_slow_turns_lower_the_bound_to_no_less_than_250_rows() -> None:
    bound = TurnBound()
    for _ in range(20):
        bound.took(5.0, 100, of=bound.most)
    assert bound.most == 250


def test_quick_full_turns_raise_the_bound_to_65536_rows() -> None:
    bound = TurnBound()
    for _ in range(20):
        bound.took(0.01, bound.most, of=bound.most)
    assert bound.most == 65_536


def test_a_quick_turn_with_little_to_claim_keeps_the_bound() -> None:
    bound = TurnBound()
    bound.took(0.01, 10, of=500)
    assert bound.most == 500
