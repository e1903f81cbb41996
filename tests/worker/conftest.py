"""A whole worker in the test's event loop, and conditions to wait for."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import psycopg
import pytest

from pgsched.delivery.app import App
from pgsched.delivery.handler_call import Context
from pgsched.scheduler import Worker
from pgsched.settings import Settings
from pgsched.store.core import connect
from pgsched.telemetry import Events, Field
from pgsched.upkeep import retention
from pgsched.worker.assignment import Assignment
from tests.databases import Databases, Janitor, kept, lending_with
from tests.kept_sessions import KeptConnection

Connection = psycopg.AsyncConnection[Any]
PATIENCE = 25.0
"""Seconds, since a busy machine can take seconds instead of milliseconds. Shorter than a poll interval of 30 s: a row
found within this time was not found by polling."""

_DAYS = 1
_MAKE_DAYS = f"""
select case when pgsched_internal.make_day(d.parent, d.day) then pgsched_internal.attach_day(d.parent, d.day) end
  from pgsched_internal.days_to_make({_DAYS}) d"""


def counting_app() -> tuple[App, list[str]]:
    """An application whose handler ``count`` records the ids of its executions, and the list of these ids."""
    app, calls = App(), list[str]()

    @app.handler("count")
    async def count(payload: Any, context: Context) -> None:
        calls.append(context.execution_id)

    return app, calls


def numbered(number: int) -> Assignment:
    """The assignment of a worker with this number that serves no queue."""
    made = Assignment(name="test", instance="test", queues=(), lease=timedelta(seconds=30))
    made.number = number
    return made


class Recorder:
    """A listener that records events and lets a test wait for one."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, dict[str, Field]]] = []
        self._arrived = asyncio.Event()

    def __call__(self, event: str, fields: dict[str, Field]) -> None:
        self.seen.append((event, fields))
        self._arrived.set()

    def named(self, event: str) -> list[dict[str, Field]]:
        return [fields for name, fields in self.seen if name == event]

    async def wait_for(self, event: str) -> dict[str, Field]:
        async with asyncio.timeout(PATIENCE):
            while not self.named(event):
                self._arrived.clear()
                await self._arrived.wait()
        return self.named(event)[0]


@pytest.fixture(autouse=True)
def _few_days(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers create two days of history, not fifteen: planning statements over all took most of the server's time."""
    monkeypatch.setattr(retention, "_AHEAD", _DAYS)


@pytest.fixture(autouse=True)
def _kept_sessions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reuse sessions between workers: new sessions and their plans took a third of these tests' time."""
    monkeypatch.setattr(connect, "AsyncConnection", KeptConnection)


@pytest.fixture
def recorder() -> Recorder:
    return Recorder()


@pytest.fixture(scope="session")
def databases(janitor: Janitor, template: str) -> Iterator[Databases]:
    """Databases that already have the days of a worker's first turn, so that their catalog does not change."""
    with lending_with(_MAKE_DAYS, "pgsched_days", janitor=janitor, template=template) as found:
        yield found


@pytest.fixture
async def db(database_url: str) -> AsyncIterator[Connection]:
    async with kept(database_url).async_connection() as connection:
        yield connection


@pytest.fixture
async def billing(db: Connection) -> AsyncIterator[Connection]:
    """A connection of the database's owner; the client ``shop`` has its role and functions."""
    from tests.worker import call_arrange

    await db.execute(call_arrange.MAKE.encode())
    yield db
    await db.execute(call_arrange.DROP.encode())


Running = Callable[..., Any]


@pytest.fixture
def running(database_url: str, recorder: Recorder) -> Running:
    """`async with running(app, lease=…) as worker`: a worker on the test's database, drained at the end."""

    @asynccontextmanager
    async def run(app: App | None = None, **overrides: Any) -> AsyncIterator[Worker]:
        given: dict[str, Any] = {"concurrency": 20, "allow_private_targets": True, "drain_timeout": 5.0} | overrides
        settings = Settings(database_url=database_url, **given)
        worker = Worker(settings, app=app, events=Events(recorder))
        await worker.start()
        try:
            yield worker
        finally:
            await worker.drain()

    return run


async def value(db: Connection, query: str, *parameters: Any) -> Any:
    row = await (await db.execute(query.encode(), parameters)).fetchone()
    return row[0] if row else None


async def until(condition: Callable[[], Awaitable[Any]], *, seconds: float = PATIENCE) -> Any:
    """Wait until the condition returns a true value, and return it."""
    pause = 0.01  # grows, because constant asking took as much of the server as the work itself
    async with asyncio.timeout(seconds):
        while not (found := await condition()):
            await asyncio.sleep(pause)
            pause = min(pause * 1.2, 0.05)
    return found


async def until_history(db: Connection, count: int, *, status: str = "succeeded", seconds: float = PATIENCE) -> None:
    query = "select count(*) = %s from pgsched.history where status = %s::pgsched.execution_status"
    await until(lambda: value(db, query, count, status), seconds=seconds)


@pytest.fixture
async def silent(database_url: str) -> AsyncIterator[Connection]:
    """A session that never notifies."""
    async with await psycopg.AsyncConnection.connect(database_url, autocommit=True) as connection:
        await connection.execute("set pgsched.notify = off")
        yield connection
