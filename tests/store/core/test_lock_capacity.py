"""Whether the server has room for the locks of those who read."""

from pgsched.store.core.lock_capacity import LockCapacity


def test_where_twenty_readers_find_room_nothing_is_said() -> None:
    assert LockCapacity(held=320, each=64, sessions=100).advice() is None


def test_two_queues_are_no_reason_to_say_anything() -> None:
    assert LockCapacity(held=469, each=64, sessions=100).advice() is None


def test_where_twenty_readers_find_no_room_it_is_said_what_to_set() -> None:
    advice = LockCapacity(held=1700, each=64, sessions=100).advice()
    assert advice is not None
    assert "max_locks_per_transaction = 170" in advice
