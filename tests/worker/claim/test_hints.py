"""The pace at which notifications are passed on: at once while few come, and bounded however many do."""

import asyncio
from collections.abc import Collection
from uuid import uuid4

import pytest

from pgsched.worker.claim.listener import Hints

NOW = 800_000_000_000_000  # microseconds since 2000
UNIX = 946_684_800_000_000


class Heard:
    """What was passed on, and a condition to wait for it."""

    def __init__(self) -> None:
        self.rows: list[tuple[int, int]] = []
        self.ended: list[bytes] = []
        self.planned = self.polls = self.looks = 0
        self._something = asyncio.Event()
        self.hints = Hints(
            expect=self._expect,
            often=self._poll,
            look=self._look,
            changed={"plan": self._plan},
            ended=self._end,
            now=lambda: NOW,
        )

    def _expect(self, partition: int, instant: int) -> bool:
        self.rows.append((partition, instant))
        self._something.set()
        return partition < 16

    def _poll(self) -> None:
        self.polls += 1

    def _look(self) -> None:
        self.looks += 1
        self._something.set()

    def _plan(self) -> None:
        self.planned += 1
        self._something.set()

    def _end(self, ids: Collection[bytes]) -> None:
        self.ended += ids
        self._something.set()

    async def something(self) -> None:
        self._something.clear()
        async with asyncio.timeout(10):
            await self._something.wait()


@pytest.fixture
def heard() -> Heard:
    return Heard()


def told(partition: int, instant: int = NOW) -> str:
    return f"{partition}@{instant + UNIX}"


async def test_a_row_is_passed_on_at_once(heard: Heard) -> None:
    heard.hints.take(told(3))
    assert (heard.rows, heard.polls) == ([(3, NOW)], 0)


@pytest.mark.parametrize(("partition", "polls"), [(3, 1), (20, 0)], ids=["served", "unserved"])
async def test_many_rows_of_a_queue_it_serves_make_it_poll(heard: Heard, partition: int, polls: int) -> None:
    for _ in range(20):
        heard.hints.take(told(partition))
    assert heard.polls == polls


async def test_of_a_flood_of_rows_the_earliest_of_each_partition_is_passed_on_together(heard: Heard) -> None:
    for n in range(500):
        heard.hints.take(told(3, NOW - n))
    assert len(heard.rows) == 20
    await heard.something()
    assert heard.rows[20:] == [(3, NOW - 499)]
    assert heard.polls <= 2


async def test_a_flood_of_one_word_wakes_whom_it_wakes_twice(heard: Heard) -> None:
    for _ in range(100_000):
        heard.hints.take("plan")
    assert heard.planned == 1
    await heard.something()
    assert heard.planned == 2


async def test_rows_of_long_ago_are_passed_on_a_few_times_a_second_however_many_are_told_of(heard: Heard) -> None:
    for n in range(300):
        heard.hints.take(told(3, n))
    assert heard.rows == [(3, 0)]
    await heard.something()
    assert heard.rows == [(3, 0), (3, 1)]


async def test_of_more_than_can_be_read_it_is_told_that_somebody_rang_so_that_the_worker_looks_by_itself(
    heard: Heard,
) -> None:
    for _ in range(1_000):
        heard.hints.take("x" * 500)
    await heard.something()
    assert 1 <= heard.looks <= 100
    assert heard.polls


async def test_of_the_executions_that_are_said_to_have_ended_only_so_many_are_remembered(heard: Heard) -> None:
    heard.hints.take("stop " + str(uuid4()))
    for _ in range(200):
        heard.hints.take("stop " + ",".join(str(uuid4()) for _ in range(100)))
    await heard.something()
    assert 1 < len(heard.ended) <= 10_100


async def test_a_name_that_nobody_knows_wakes_nobody(heard: Heard) -> None:
    for payload in ("", "that was all", "plans", "stop nothing"):
        heard.hints.take(payload)
    assert (heard.rows, heard.planned, heard.ended, heard.looks) == ([], 0, [], 0)


async def test_long_ones_keep_no_row_from_being_told_of_at_once(heard: Heard) -> None:
    for _ in range(1_000):
        heard.hints.take("stop " + "x" * 7_000)
        heard.hints.take("x" * 7_999)
    heard.hints.take(told(3))
    assert (heard.rows, heard.looks) == ([(3, NOW)], 0)
