"""The releaser's turns: what it looks for, and when."""

from collections.abc import AsyncIterator

import pytest

from pgsched.store.core.connect import Link
from pgsched.telemetry import Events
from pgsched.upkeep.dependent_releaser import DependentReleaser
from tests.worker.conftest import Connection, Recorder, value

AFTER = "select pgsched.schedule('python:next', after => array[%s])::text"


@pytest.fixture
async def releaser(database_url: str, recorder: Recorder) -> AsyncIterator[DependentReleaser]:
    link = Link(database_url, "test")
    yield DependentReleaser(link, Events(recorder), every=7.0)
    await link.drop()


async def first_and_next(db: Connection) -> tuple[str, str]:
    first = await value(db, "select pgsched.schedule('python:first', delay => '1 hour')::text")
    return first, await value(db, AFTER, first)


async def turn(releaser: DependentReleaser) -> float:
    """Take a turn at once, however recent the last turn was."""
    releaser._turned_at = float("-inf")
    return await releaser.turn()


async def test_settling_without_dependents_does_not_wake_the_releaser(releaser: DependentReleaser) -> None:
    assert await turn(releaser) == 7.0
    releaser.settled()
    assert not releaser._wake.is_set()


async def test_settling_wakes_the_releaser_while_a_dependent_waits(db: Connection, releaser: DependentReleaser) -> None:
    await first_and_next(db)
    assert await turn(releaser) == 7.0
    releaser.settled()
    assert releaser._wake.is_set()


async def test_settling_wakes_the_releaser_after_a_notice_of_a_dependent(releaser: DependentReleaser) -> None:
    await turn(releaser)
    releaser.look()
    releaser._wake.clear()
    releaser.settled()
    assert releaser._wake.is_set()


async def test_a_second_turn_shortly_after_the_first_is_postponed(
    releaser: DependentReleaser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pgsched.upkeep.dependent_releaser._APART", 60.0)
    assert await releaser.turn() == 7.0
    assert 7.0 < await releaser.turn() <= 60.0


async def test_the_releaser_expires_held_rows_and_sleeps_until_the_next_expiry(
    db: Connection, releaser: DependentReleaser
) -> None:
    for seconds in (5, 63):
        await db.execute(
            "insert into pgsched.executions (target, fire_at, options) values ('python:x', now(), %s)",
            [f'{{"relevant_for": "{seconds}s"}}'],
        )
    await db.execute(
        "update pgsched.executions set gate = 'client:default', fire_at = 'infinity',"
        " scheduled_for = now() - interval '1 minute', held_until = now() - interval '1 minute'"
        "   + (options ->> 'relevant_for')::interval"
    )
    assert await turn(releaser) < 1
    assert await value(db, "select status::text from pgsched.history") == "expired"
    assert 0 < await turn(releaser) <= 3


async def test_released_dependents_make_the_releaser_search_again_immediately(
    db: Connection, releaser: DependentReleaser, recorder: Recorder
) -> None:
    first, following = await first_and_next(db)
    await db.execute("select pgsched.cancel(%s::uuid)", [first])
    assert await turn(releaser) < 1
    assert recorder.named("dependents.released") == [{"count": 1}]
    assert await value(db, "select status::text from pgsched.status where id = %s::uuid", following) == "skipped"
    assert await turn(releaser) == 7.0


async def test_dependents_of_a_missing_predecessor_are_skipped(db: Connection, releaser: DependentReleaser) -> None:
    first, following = await first_and_next(db)
    await db.execute("delete from pgsched.executions where id = %s::uuid", [first])
    await turn(releaser)
    assert await value(db, "select status::text from pgsched.status where id = %s::uuid", following) == "skipped"


async def test_an_end_with_thousands_of_dependents_does_not_delay_other_ends(
    db: Connection, releaser: DependentReleaser
) -> None:
    large, _ = await first_and_next(db)
    await db.execute(f"select {AFTER.removeprefix('select ')} from generate_series(1, 2000)".encode(), [large])
    small = following = ""
    while small <= large:  # ends are looked at in the order of their ids
        small, following = await first_and_next(db)
    for end in (large, small):
        await db.execute("select pgsched.cancel(%s::uuid)", [end])
    for _ in range(2):
        await turn(releaser)
    assert await value(db, "select status::text from pgsched.status where id = %s::uuid", following) == "skipped"
    left = "select count(*) from pgsched.dependencies where after_id = %s::uuid and status is null"
    assert await value(db, left, large) > 0
    for _ in range(10):
        await turn(releaser)
    assert await value(db, left, large) == 0
