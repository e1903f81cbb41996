"""The pace at which notifications are passed on: at once while they are few, and bounded however many arrive."""

import asyncio
from collections.abc import Collection
from uuid import uuid4

import pytest

from pgsched.worker.claim.listener import Hints

NOW = 800_000_000_000_000  # microseconds since 2000
UNIX = 946_684_800_000_000


class Heard:
    """Records what is passed on, and lets a test wait for it."""

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


async def test_a_notice_of_a_row_is_passed_on_immediately(heard: Heard) -> None:
    heard.hints.take(told(3))
    assert (heard.rows, heard.polls) == ([(3, NOW)], 0)


@pytest.mark.parametrize(("partition", "polls"), [(3, 1), (20, 0)], ids=["served", "unserved"])
async def test_many_notices_start_polling_only_for_a_served_queue(heard: Heard, partition: int, polls: int) -> None:
    for _ in range(20):
        heard.hints.take(told(partition))
    assert heard.polls == polls


async def test_a_flood_of_notices_is_reduced_to_each_partitions_earliest_row(heard: Heard) -> None:
    for n in range(500):
        heard.hints.take(told(3, NOW - n))
    assert len(heard.rows) == 20
    await heard.something()
    assert heard.rows[20:] == [(3, NOW - 499)]
    assert heard.polls <= 2


async def test_a_flood_of_identical_words_wakes_the_service_twice(heard: Heard) -> None:
    for _ in range(100_000):
        heard.hints.take("plan")
    assert heard.planned == 1
    await heard.something()
    assert heard.planned == 2


async def test_a_flood_of_long_overdue_rows_is_passed_on_at_a_bounded_rate(heard: Heard) -> None:
    for n in range(300):
        heard.hints.take(told(3, n))
    assert heard.rows == [(3, 0)]
    await heard.something()
    assert heard.rows == [(3, 0), (3, 1)]


async def test_excess_notifications_make_the_worker_look_for_rows(
    heard: Heard,
) -> None:
    for _ in range(1_000):
        heard.hints.take("x" * 500)
    await heard.something()
    assert 1 <= heard.looks <= 100
    assert heard.polls


async def test_the_number_of_remembered_ended_executions_is_bounded(heard: Heard) -> None:
    heard.hints.take("stop " + str(uuid4()))
    for _ in range(200):
        heard.hints.take("stop " + ",".join(str(uuid4()) for _ in range(100)))
    await heard.something()
    assert 1 < len(heard.ended) <= 10_200


async def test_an_unknown_notification_word_wakes_no_service(heard: Heard) -> None:
    for payload in ("", "that was all", "plans", "stop nothing"):
        heard.hints.take(payload)
    assert (heard.rows, heard.planned, heard.ended, heard.looks) == ([], 0, [], 0)


async def test_long_notifications_do_not_delay_the_notice_of_a_row(heard: Heard) -> None:
    for _ in range(1_000):
        heard.hints.take("stop " + "x" * 7_000)
        heard.hints.take("x" * 7_999)
    heard.hints.take(told(3))
    assert (heard.rows, heard.looks) == ([(3, NOW)], 0)
