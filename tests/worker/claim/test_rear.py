"""What others have in the middle of a backlog that a gate holds back, with whole workers."""

import pytest

from pgsched.delivery.python import App
from pgsched.worker.claim import rear
from tests.worker.conftest import Connection, Running, until, until_history, value

FLOOD = """
insert into pgsched.executions (client_id, target, fire_at)
select 'flood', 'python:noop', now() - interval '1 minute' + %s * n * interval '1 ms'
  from generate_series(1, 5000) n"""
OTHERS = """
insert into pgsched.executions (target, fire_at)
select 'python:noop', now() - %s::interval from generate_series(1, 20)"""
HELD = "select count(*) > 0 from pgsched.executions where gate = 'client:flood'"
DONE = "select count(*) = 20 from pgsched.history where client_id = 'default'"


@pytest.fixture
async def shut(db: Connection, monkeypatch: pytest.MonkeyPatch) -> Connection:
    """A database whose client ``flood`` has passed its limit for this hour; parts of the rear are small."""
    monkeypatch.setattr(rear, "_PART", 50)
    await db.execute(
        "insert into pgsched_internal.gates (name, events, period) values ('client:flood', 1, interval '1 hour')"
    )
    return db


@pytest.fixture
def app() -> App:
    found = App()

    @found.handler("noop")
    async def noop() -> None:
        pass

    return found


@pytest.mark.parametrize("spread", [10, 0])
async def test_others_overdue_rows_are_found_in_the_middle_of_a_backlog(
    shut: Connection, running: Running, app: App, spread: int
) -> None:
    await shut.execute(FLOOD.encode(), [spread])
    await shut.execute(OTHERS.encode(), ["35 seconds" if spread else "1 minute"])
    async with running(app):
        await until(lambda: value(shut, DONE))


async def test_what_comes_in_behind_the_claims_is_found(shut: Connection, running: Running, app: App) -> None:
    await shut.execute(FLOOD.encode(), [10])
    async with running(app, poll_interval=0.5):
        await until(lambda: value(shut, HELD))
        await shut.execute("set pgsched.notify = off")
        await shut.execute(OTHERS.encode(), ["35 seconds"])
        await until(lambda: value(shut, DONE))


async def test_the_backlog_itself_goes_on_once_its_limit_is_dropped(
    shut: Connection, running: Running, app: App
) -> None:
    await shut.execute(FLOOD.encode(), [10])
    async with running(app):
        await until(lambda: value(shut, HELD))
        await shut.execute("delete from pgsched_internal.gates")
        await until_history(shut, 5000, seconds=30)
