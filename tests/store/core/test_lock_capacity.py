"""Advice if the server's lock table is too small for readers."""

from pgsched.store.core.lock_capacity import LockCapacity


def test_lock_capacity_for_twenty_readers_needs_no_advice() -> None:
    assert LockCapacity(held=320, each=64, sessions=100).advice() is None


def test_lock_capacity_for_two_queues_needs_no_advice() -> None:
    assert LockCapacity(held=469, each=64, sessions=100).advice() is None


def test_too_little_lock_capacity_yields_advice_to_raise_the_setting() -> None:
    advice = LockCapacity(held=1700, each=64, sessions=100).advice()
    assert advice is not None
    assert "max_locks_per_transaction = 170" in advice
