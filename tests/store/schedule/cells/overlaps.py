"""The columns of the table of overlaps: the job's first run is still in hand when further instants come."""

from datetime import datetime

from tests.store.schedule.cells.rows import DAY, HOUR, Row
from tests.store.schedule.cells.situations import AUTUMN, LATER, MADE, MINUTE, RUN, SPRING, Told, told
from tests.store.schedule.cells.stage import Stage
from tests.store.schedule.cells.words import fates
from tests.store.store_arrange import call


async def _going_on(stage: Stage, row: Row, made: datetime = MADE) -> Told:
    """The run of the first instant has begun."""
    story = await told(stage, row, made)
    stage.travel(story.start)
    await stage.hold()
    return story


async def _become(stage: Stage, story: Told, *, times: bool = False) -> str:
    """What happened to the instants after the first, once its run has ended too."""
    until = stage.now
    await stage.finish()
    words = fates(stage, story.row, story.instant + MINUTE, until, times=times)
    return words + story.ending()


async def normal(stage: Stage, row: Row) -> str:
    """The run goes on over three instants, and some minutes more."""
    story = await _going_on(stage, row)
    await stage.live(story.instant + 3 * HOUR + RUN)
    return await _become(stage, story)


async def late_by_seconds(stage: Stage, row: Row) -> str:
    story = await _going_on(stage, row)
    stage.travel(story.instant + HOUR + 5 * MINUTE / 60)
    await stage.work()
    return await _become(stage, story)


async def down_for_a_day(stage: Stage, row: Row) -> str:
    """Nothing is claimed for a day from the second instant on; the worker of the first run keeps it."""
    story = await _going_on(stage, row)
    stage.travel(story.instant + HOUR + DAY + LATER)
    await stage.work()
    return await _become(stage, story)


async def clock_forward(stage: Stage, row: Row) -> str:
    story = await _going_on(stage, row, SPRING)
    await stage.live(story.instant + HOUR + LATER)
    return await _become(stage, story, times=True)


async def clock_back(stage: Stage, row: Row) -> str:
    story = await _going_on(stage, row, AUTUMN + HOUR)
    await stage.live(story.instant + HOUR + LATER)
    return await _become(stage, story, times=True)


async def paused_over_the_instant(stage: Stage, row: Row) -> str:
    story = await _going_on(stage, row)
    second = story.instant + HOUR
    stage.travel(second - 10 * MINUTE)
    call(stage.db, "pause", kind="job", name=str(story.id))
    stage.travel(second + 10 * MINUTE)
    call(stage.db, "resume", kind="job", name=str(story.id))
    return await _become(stage, story)


async def edited_before_the_instant(stage: Stage, row: Row) -> str:
    story = await _going_on(stage, row)
    stage.travel(story.instant + HOUR - 10 * MINUTE)
    story.schedule({"said": "second"})
    await stage.live(story.instant + HOUR + LATER)
    return await _become(stage, story)


async def deleted_while_running(stage: Stage, row: Row) -> str:
    """Deleted some minutes after the second instant, while the first run still goes on."""
    story = await _going_on(stage, row)
    await stage.live(story.instant + HOUR + LATER)
    assert call(stage.db, "cancel", id=story.id)
    return await _become(stage, story)
