"""Places, and how clients share them."""

import pytest

from pgsched.delivery.places import NoPlace, Places


def taken_by_each(places: Places, clients: int) -> list[int]:
    """How many places each of so many clients gets, one after another, that take all they may."""
    for number in range(clients):
        while places.free_for(f"client-{number}"):
            places.take(f"client-{number}")
    return [places.taken_by(f"client-{number}") for number in range(clients)]


@pytest.mark.parametrize(("most", "each"), [(64, [48, 12, 3, 1]), (10, [7, 2, 1]), (4, [3, 1]), (2, [1, 1]), (1, [1])])
def test_each_client_has_three_for_one_that_is_free(most: int, each: list[int]) -> None:
    assert taken_by_each(Places("places", most, is_shared=lambda: True), len(each)) == each


def test_a_client_alone_has_them_all() -> None:
    assert taken_by_each(Places("places", 64), 2) == [64, 0]


def test_nobody_takes_more_than_there_is_for_it() -> None:
    places = Places("places", 4, is_shared=lambda: True)
    for _ in range(3):
        places.take("mallory")
    with pytest.raises(NoPlace):
        places.take("mallory")
    places.take("shop")
    with pytest.raises(NoPlace):
        places.take("bank")


def test_what_is_given_back_others_may_have_and_are_told_of() -> None:
    places, told = Places("places", 4, is_shared=lambda: True), list[int]()
    for _ in range(3):
        places.take("mallory")
    places.freed = lambda freed: told.append(freed.free_for("shop"))
    for _ in range(3):
        places.give_back("mallory")
    assert told == [1, 2, 3]
    assert places.taken_by("mallory") == 0


def test_clients_that_come_to_be_several_share_what_one_had_taken_alone() -> None:
    several = False
    places = Places("places", 4, is_shared=lambda: several)
    for _ in range(4):
        places.take("mallory")
    several = True
    for _ in range(2):
        places.give_back("mallory")
    assert places.free_for("mallory") == 1
    assert places.free_for("shop") == 1
