"""Slots and how clients share them."""

import pytest

from pgsched.delivery.slots import NoFreeSlot, Slots


def taken_by_each(slots: Slots, clients: int) -> list[int]:
    """Lets each client in turn take all the slots it may. Returns how many each took."""
    for number in range(clients):
        while slots.free_for(f"client-{number}"):
            slots.take(f"client-{number}")
    return [slots.taken_by(f"client-{number}") for number in range(clients)]


@pytest.mark.parametrize(("most", "each"), [(64, [48, 12, 3, 1]), (10, [7, 2, 1]), (4, [3, 1]), (2, [1, 1]), (1, [1])])
def test_a_client_may_take_three_slots_for_each_slot_left_free(most: int, each: list[int]) -> None:
    assert taken_by_each(Slots("slots", most, is_shared=lambda: True), len(each)) == each


def test_a_lone_client_may_take_all_slots() -> None:
    assert taken_by_each(Slots("slots", 64), 2) == [64, 0]


def test_no_client_takes_more_than_its_share() -> None:
    slots = Slots("slots", 4, is_shared=lambda: True)
    for _ in range(3):
        slots.take("mallory")
    with pytest.raises(NoFreeSlot):
        slots.take("mallory")
    slots.take("shop")
    with pytest.raises(NoFreeSlot):
        slots.take("bank")


def test_each_freed_slot_is_announced() -> None:
    slots, told = Slots("slots", 4, is_shared=lambda: True), list[int]()
    for _ in range(3):
        slots.take("mallory")
    slots.freed = lambda freed: told.append(freed.free_for("shop"))
    for _ in range(3):
        slots.give_back("mallory")
    assert told == [1, 2, 3]
    assert slots.taken_by("mallory") == 0


def test_clients_share_slots_that_a_lone_client_had_taken() -> None:
    several = False
    slots = Slots("slots", 4, is_shared=lambda: several)
    for _ in range(4):
        slots.take("mallory")
    several = True
    for _ in range(2):
        slots.give_back("mallory")
    assert slots.free_for("mallory") == 1
    assert slots.free_for("shop") == 1
