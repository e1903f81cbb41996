"""A neighbour whose handlers keep the interpreter takes no more than a part of its time, and all that the first client
does in its ways is late by a moment."""

from collections.abc import Callable

import pytest

from tests.adversary.attack import Attack, Means
from tests.adversary.test_shared_places import Stage, stage  # noqa: F401  it is a fixture
from tests.adversary.verdict import judge

pytestmark = pytest.mark.attack

_ONCE = '{"timeout": "10s", "max_attempts": 1}'
_BRIEF = '{"timeout": "1200ms", "max_attempts": 1}'
_MANY = (
    "insert into pgsched.executions (client_id, target, payload, fire_at, options) select 'mallory',"
    " 'python:' || %s, %s::jsonb, now(), %s::jsonb from generate_series(1, %s)"
)


def _call(means: Means, handler: str, payload: str, count: int, options: str = _ONCE) -> None:
    means.commit(_MANY, [handler, payload, options, count])


def _later(means: Means, way: str, seconds: float, count: int, options: str = _ONCE) -> None:
    _call(means, "mallory_blocks_later", f'{{"way": "{way}", "seconds": {seconds}}}', count, options)


def handlers_that_block_for_a_moment_each(means: Means) -> None:
    _call(means, "mallory_blocks", '{"seconds": 0.4}', 300)


def handlers_that_block_for_an_instant_each(means: Means) -> None:
    _call(means, "mallory_blocks", '{"seconds": 0.02}', 4_000)


def handlers_that_wait_and_block_then(means: Means) -> None:
    _later(means, "await", 0.4, 300)


def handlers_that_block_in_many_ways(means: Means) -> None:
    for way in ("await", "tasks", "call_later", "leave"):
        _later(means, way, 0.2, 75)
    _later(means, "cancelled", 0.2, 50, _BRIEF)


@pytest.mark.parametrize(
    "mount",
    [
        handlers_that_block_for_a_moment_each,
        handlers_that_block_for_an_instant_each,
        handlers_that_wait_and_block_then,
        handlers_that_block_in_many_ways,
    ],
)
def test_a_neighbour_takes_no_more_than_its_part_of_the_time(
    stage: Stage,  # noqa: F811
    mount: Callable[[Means], None],
) -> None:
    house = stage.scene.house
    verdict = judge(house, Attack(mount.__name__, mount, 3.0, False, 5.0), stage.usual)
    house.clear()
    found = [*verdict.problems, *verdict.figures, *verdict.refusals[:5], house.log()]
    house.restart()
    assert not verdict.problems, "\n".join(found)
