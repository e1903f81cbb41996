"""A neighbour whose handlers keep the interpreter takes no more than a part of its time, and all that the first client
does in its ways is late by a moment."""

import pytest

from tests.adversary.attack import Attack, Means
from tests.adversary.test_shared_places import Stage, stage  # noqa: F401  it is a fixture
from tests.adversary.verdict import judge

pytestmark = pytest.mark.attack

_ONCE = '{"timeout": "10s", "max_attempts": 1}'
_BLOCKING = (
    "insert into pgsched.executions (client_id, target, payload, fire_at, options) select 'mallory',"
    " 'python:mallory_blocks', jsonb_build_object('seconds', %s::float8), now(), %s::jsonb"
    " from generate_series(1, %s)"
)


def handlers_that_block_for_a_moment_each(means: Means) -> None:
    means.commit(_BLOCKING, [0.4, _ONCE, 300])


def test_a_neighbour_takes_no_more_than_its_part_of_the_time(stage: Stage) -> None:  # noqa: F811
    house = stage.scene.house
    verdict = judge(house, Attack("moments", handlers_that_block_for_a_moment_each, 8.0, False, 5.0), stage.usual)
    found = [*verdict.problems, *verdict.figures, *verdict.refusals[:5], house.log()]
    house.restart()
    assert not verdict.problems, "\n".join(found)
