"""How many database connections a worker holds: few when idle, whatever it did before."""

import pytest

from pgsched.delivery.app import App
from pgsched.store.core import connect
from tests.worker.conftest import Connection, Running, until, until_history, value

IDLE = ["claim", "listen", "plan", "renew", "sweep", "upkeep", "watch"]
SELDOM = {"begin", "gates", "payloads"}
HELD = """
select array_agg(split_part(application_name, ' ', 2)) from pg_stat_activity
 where datname = current_database() and application_name ~ '^pgsched '"""


async def holds(db: Connection, expected: list[str]) -> None:
    async def does() -> bool:
        return sorted(await value(db, HELD) or []) == expected

    await until(does)


async def test_an_idle_worker_holds_seven_connections(running: Running, db: Connection) -> None:
    async with running():
        await holds(db, IDLE)


async def test_rarely_needed_connections_are_closed_when_unused(
    running: Running, db: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = App()

    @app.handler("noop")
    async def noop() -> None: ...

    async with running(app, lease=5):
        await db.execute("select pgsched.set_limit('client', 'flood', rate => 10)")
        await db.execute("select pgsched.schedule('python:noop', client => 'flood') from generate_series(1, 20)")
        await db.execute("select pgsched.schedule('python:noop', options => '{\"max_attempts\": 1}')")
        await db.execute("select pgsched.schedule('python:noop', to_jsonb(repeat('x', 20000)))")
        await until_history(db, 22)
        assert set(await value(db, HELD)) >= SELDOM
        monkeypatch.setattr(connect, "_UNUSED", 0.5)
        await holds(db, sorted([*IDLE, "settle"]))
