"""Setting the server's clock loses no instant and runs none twice."""

from datetime import timedelta

import pytest

from tests.store.schedule.cells.rows import HOUR, OVERLAP
from tests.store.schedule.cells.situations import MINUTE, told
from tests.store.schedule.cells.stage import Stage
from tests.store.store_arrange import column

pytestmark = pytest.mark.asyncio(loop_scope="module")
_RAN = "select scheduled_for from pgsched.history where status = 'succeeded' order by 1"


async def test_setting_the_clock_forward_coalesces_the_skipped_instants(stage: Stage) -> None:
    story = await told(stage, OVERLAP["`skip` (default)"])
    stage.travel(story.instant + 3 * HOUR + MINUTE)
    await stage.work()
    assert story.fates() == "3 skipped (coalesced), then runs"


async def test_setting_the_clock_back_runs_no_instant_twice(stage: Stage) -> None:
    story = await told(stage, OVERLAP["`skip` (default)"])
    await stage.live(story.instant + MINUTE)
    stage.travel(story.instant - HOUR / 2)
    await stage.live(story.instant + HOUR + timedelta(minutes=1))
    assert column(stage.db, _RAN) == [story.instant, story.instant + HOUR]
