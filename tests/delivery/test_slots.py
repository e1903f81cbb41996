"""Slots, and how clients share them."""

import pytest

from pgsched.delivery.slots import NoFreeSlot, Slots


def taken_by_each(slots: Slots, clients: int) -> list[int]:
    """How many slots each of so many clients gets, one after another, that take all they may."""
    for number in range(clients):
        while slots.free_for(f"client-{number}"):
            slots.take(f"client-{number}")
    return [slots.taken_by(f"client-{number}") for number in range(clients)]


@pytest.mark.parametrize(("most", "each"), [(64, [48, 12, 3, 1]), (10, [7, 2, 1]), (4, [3, 1]), (2, [1, 1]), (1, [1])])
def test_each_client_has_three_for_one_that_is_free(most: int, each: list[int]) -> None:
    assert taken_by_each(Slots("slots", most, is_shared=lambda: True), len(each)) == each


def test_a_client_alone_has_them_all() -> None:
    assert taken_by_each(Slots("slots", 64), 2) == [64, 0]


def test_nobody_takes_more_than_there_is_for_it() -> None:
    slots = Slots("slots", 4, is_shared=lambda: True)
    for _ in range(3):
        slots.take("mallory")
    with pytest.raises(NoFreeSlot):
        slots.take("mallory")
    slots.take("shop")
    with pytest.raises(NoFreeSlot):
        slots.take("bank")


def test_what_is_given_back_others_may_have_and_are_told_of() -> None:
    slots, told = Slots("slots", 4, is_shared=lambda: True), list[int]()
    for _ in range(3):
        slots.take("mallory")
    slots.freed = lambda freed: told.append(freed.free_for("shop"))
    for _ in range(3):
        slots.give_back("mallory")
    assert told == [1, 2, 3]
    assert slots.taken_by("mallory") == 0


def test_clients_that_come_to_be_several_share_what_one_had_taken_alone() -> None:
    several = False
    slots = Slots("slots", 4, is_shared=lambda: several)
    for _ in range(4):
        slots.take("mallory")
    several = True
    for _ in range(2):
        slots.give_back("mallory")
    assert slots.free_for("mallory") == 1
    assert slots.free_for("shop") == 1
