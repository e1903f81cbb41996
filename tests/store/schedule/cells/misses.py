"""Columns of the table of missed instants whose stories differ from those of the other tables."""

from datetime import datetime, timedelta

from tests.store.schedule.cells.rows import HOUR, Row
from tests.store.schedule.cells.situations import AUTUMN, LATER, MADE, MINUTE, SPRING, told
from tests.store.schedule.cells.stage import Stage
from tests.store.schedule.cells.words import fates
from tests.store.store_arrange import call


async def clock_forward(stage: Stage, row: Row) -> str:
    return await _down_over_the_change(stage, row, SPRING, 3 * HOUR)


async def clock_back(stage: Stage, row: Row) -> str:
    return await _down_over_the_change(stage, row, AUTUMN, 5 * HOUR)


async def _down_over_the_change(stage: Stage, row: Row, night: datetime, length: timedelta) -> str:
    """No worker from half past midnight to 04:35, Berlin time."""
    story = await told(stage, row, night)
    stage.travel(night + length + LATER)
    await stage.work()
    return fates(stage, row, night, stage.now) + story.ending()


async def deleted_while_running(stage: Stage, row: Row) -> str:
    """No worker for three hours; deleted a minute after the first run has then begun."""
    story = await told(stage, row, MADE)
    stage.travel(story.instant + 3 * HOUR + LATER)
    await stage.plan()
    while not stage.in_hand and stage.next_start() < stage.now + MINUTE / 2:  # type: ignore[operator]  # the job goes on
        stage.travel(stage.now + timedelta(milliseconds=1))
        stage.in_hand = await stage.claim()
    stage.travel(stage.now + MINUTE)
    assert call(stage.db, "cancel", id=story.id)
    if stage.in_hand:
        await stage.finish()
    return story.fates() + story.ending()
