"""The columns of the tables: each is a story, played with the schedule of a row, that returns the words of its cell."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

import psycopg
import pytest

from tests.store.schedule.cells.rows import DAY, HOUR, Row
from tests.store.schedule.cells.stage import Stage
from tests.store.schedule.cells.words import fates, following
from tests.store.store_arrange import call, value

MADE = datetime(2025, 3, 1, 9, 30, tzinfo=UTC)
SPRING = datetime(2025, 3, 29, 23, 30, tzinfo=UTC)  # half past midnight in Berlin, before 02:00 becomes 03:00
AUTUMN = datetime(2025, 10, 25, 22, 30, tzinfo=UTC)  # the same, before 03:00 becomes 02:00
MINUTE = timedelta(minutes=1)
LATER = timedelta(minutes=5)
RUN = timedelta(minutes=20)
_FIRST = "select id, coalesce(scheduled_for, fire_at), fire_at from pgsched.executions"


class Told:
    """What a row has scheduled at a moment: its id, and the instant and start of its first execution."""

    def __init__(self, stage: Stage, row: Row, made: datetime) -> None:
        self.stage, self.row, self.made = stage, row, made
        self.id: UUID
        self.instant: datetime
        self.start: datetime

    async def begin(self) -> None:
        self.stage.travel(self.made)
        self.id = self.schedule({"said": "first"})
        await self.stage.plan()
        [(_, self.instant, self.start)] = self.stage.db.execute(_FIRST).fetchall()

    def schedule(self, payload: dict[str, str]) -> UUID:
        given = self.row.arguments(self.made)
        id = call(self.stage.db, "schedule", target="python:x", key="cell", payload=payload, **given)
        assert isinstance(id, UUID)
        for name, wanted in self.row.columns.items():
            self.stage.db.execute(f"update pgsched.jobs set {name} = %s where id = %s", [wanted, id])
        return id

    @property
    def recurs(self) -> bool:
        return bool(value(self.stage.db, "select count(*) from pgsched.jobs where id = %s", [self.id]))

    def fates(self) -> str:
        return fates(self.stage, self.row, self.instant, self.stage.now)

    def ending(self) -> str:
        """The words for a job that has no further instant."""
        if not self.recurs or value(self.stage.db, "select count(*) from pgsched.executions"):
            return ""
        state, reason = self.stage.db.execute("select state::text, reason from pgsched.jobs").fetchall()[0]
        return ", then nothing" if state == "cancelled" else f", then finished ({reason})"


async def told(stage: Stage, row: Row, made: datetime = MADE) -> Told:
    """The beginning of each story: schedule the row, and plan it."""
    story = Told(stage, row, made)
    await story.begin()
    return story


async def normal(stage: Stage, row: Row) -> str:
    """A worker is there at the instant, and the run takes a while."""
    story = await told(stage, row)
    stage.travel(story.start)
    await stage.hold()
    stage.travel(story.start + RUN)
    await stage.settle(stage.in_hand)
    stage.in_hand = []
    await stage.plan()
    if not story.recurs or story.ending():
        return story.fates() + story.ending()
    return f"{story.fates()}, {following(stage, story.instant)}"


async def late_by_seconds(stage: Stage, row: Row) -> str:
    story = await told(stage, row)
    stage.travel(story.start + timedelta(seconds=5))
    await stage.work()
    return story.fates() + story.ending()


async def down_for_a_day(stage: Stage, row: Row) -> str:
    story = await told(stage, row)
    stage.travel(story.instant + DAY + LATER)
    await stage.work()
    await stage.live(stage.now + RUN)  # a coalesced run keeps its jitter or window, too
    return story.fates() + story.ending()


async def clock_forward(stage: Stage, row: Row) -> str:
    return await _over_the_change(stage, row, SPRING, SPRING + 2.4 * HOUR)


async def clock_back(stage: Stage, row: Row) -> str:
    return await _over_the_change(stage, row, AUTUMN, AUTUMN + 4.4 * HOUR)


async def _over_the_change(stage: Stage, row: Row, night: datetime, until: datetime) -> str:
    """From half past midnight to shortly before four in the morning, Berlin time."""
    story = await told(stage, row, night)
    await stage.live(until)
    return fates(stage, row, night, until, times=True) + story.ending()


async def paused_over_the_instant(stage: Stage, row: Row) -> str:
    """Paused from ten minutes before the instant to ten minutes after it, or after the end of its jitter or window."""
    story = await told(stage, row)
    if not story.recurs:
        with pytest.raises(psycopg.Error, match="there is no job"):
            call(stage.db, "pause", kind="job", name=str(story.id))
        return "cannot be paused"
    stage.travel(story.instant - 10 * MINUTE)
    call(stage.db, "pause", kind="job", name=str(story.id))
    spread = row.spread[0] if row.spread else timedelta(0)
    stage.travel(story.instant + spread + 10 * MINUTE)
    call(stage.db, "resume", kind="job", name=str(story.id))
    await stage.plan()
    ending = story.ending() or f", {following(stage, story.instant)}"
    return fates(stage, row, story.instant, stage.now) + ending


async def edited_before_the_instant(stage: Stage, row: Row) -> str:
    """Scheduled again under its key, with another payload, ten minutes before. Then a worker is there in time."""
    story = await told(stage, row)
    stage.travel(max(story.instant - 10 * MINUTE, story.made))
    story.schedule({"said": "second"})
    await stage.plan()
    await stage.live(max(stage.next_start() or stage.now, story.start))
    said = stage.db.execute(
        "select distinct payload ->> 'said' from pgsched.history where status = 'succeeded'"
    ).fetchall()
    assert said == [("second",)]
    return fates(stage, row, story.made, stage.now) + _put_off(stage, story) + story.ending()


def _put_off(stage: Stage, story: Told) -> str:
    """The words for how much later than its instant it ran."""
    ran = value(stage.db, "select max(scheduled_for) from pgsched.history where status = 'succeeded'")
    minutes = round((ran - story.instant) / MINUTE) if story.recurs else 0
    return f" {minutes} min later" if minutes else ""


async def deleted_while_running(stage: Stage, row: Row) -> str:
    """Deleted a minute after the start of the run, and looked at a day later."""
    story = await told(stage, row)
    stage.travel(story.start)
    await stage.hold()
    stage.travel(story.start + MINUTE)
    assert call(stage.db, "cancel", id=story.id)
    await stage.finish()
    await stage.live(story.start + DAY)
    return story.fates() + story.ending()
