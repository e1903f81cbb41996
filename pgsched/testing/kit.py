"""The kit: one object with everything a test needs.

All of pgsched gets the time from the SQL function ``pgsched.now()``. To travel in time, the kit replaces that function,
in the test's database, with one that returns a fixed instant. Once the change is committed, every session sees that
instant. PostgreSQL's own ``now()`` and Python's clocks are unchanged.
"""

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from contextlib import AbstractContextManager
from datetime import datetime, timedelta
from typing import Any, TypeVar

import psycopg
from psycopg import sql

from pgsched.client.transaction import Executes
from pgsched.delivery.app import App
from pgsched.domain.duration import length_of
from pgsched.domain.schedule import instant_of
from pgsched.store import verbs
from pgsched.store.core.sql import statement
from pgsched.store.jobs import declaring
from pgsched.testing import scheduled
from pgsched.testing.inline import inline
from pgsched.testing.scheduled import ANYTHING, Expected, ScheduledCall
from pgsched.testing.stepped_worker import Ran, SteppedWorker

_MOST = 1_000
_T = TypeVar("_T")


class Kit:
    """Works on a test database in which pgsched has been migrated, with a role that owns pgsched there.

        with Kit("postgresql://user@host/shop_test", app) as kit:
            kit.travel_to("2026-03-01T08:59:00Z")
            ...
            kit.run_due()

    ``settings`` are a worker's settings, such as ``queues="default,orders"``; ``patience`` is the maximum duration of
    an execution in seconds. Raises RuntimeError if a worker is running on the database, because that worker would run
    the test's executions and travel in time too.
    """

    def __init__(self, database_url: str, app: App | None = None, *, patience: float = 60.0, **settings: Any) -> None:
        self._url, self.app = database_url, app or App()
        self._patience, self._settings = patience, settings
        self._session = psycopg.connect(database_url, autocommit=True)
        try:
            self._check_alone()
            self._let_clock_go_on()  # in case an earlier test was killed
        except BaseException:
            self._session.close()
            raise

    def __enter__(self) -> "Kit":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Restarts the database's clock if it was stopped, and closes the connection."""
        if self._session.closed:
            return
        self._let_clock_go_on()
        self._session.close()

    def clear(self) -> None:
        """Deletes all clients' executions, jobs and history from the database."""
        self._check_alone()
        self._session.execute(statement("testing/clear"))

    def apply(self) -> None:
        """Schedules the jobs that the application declares, as ``pgsched apply`` does."""
        _in_own_loop(self.apply_async(), "apply_async")

    async def apply_async(self) -> None:
        """Async version of ``apply``, in the test's event loop."""
        async with await psycopg.AsyncConnection.connect(self._url, autocommit=True) as connection:
            changes = await declaring.compare(connection, "test", self.app.declared, prune=False, force=False)
            await declaring.apply(connection, "test", changes, actor=None)

    def now(self) -> datetime:
        """Returns the time that pgsched uses."""
        [found] = self._session.execute(verbs.now.text()).fetchone() or (None,)
        assert isinstance(found, datetime)
        return found

    def travel_to(self, instant: datetime | str) -> datetime:
        """Stops pgsched's clock at an instant in the past or the future, without running anything. Raises
        InvalidSchedule if the instant has no offset, and psycopg.errors.InsufficientPrivilege if the role does not own
        pgsched.
        """
        at = instant_of(instant, "instant")
        self._session.execute(sql.SQL(statement("testing/set_clock")).format(sql.Literal(at.isoformat())))
        return at

    def advance(self, by: timedelta | str) -> datetime:
        """Moves pgsched's clock forward, for example by a day with ``advance("1d")``, and stops it there."""
        return self.travel_to(self.now() + length_of(by))

    def run_due(self, *, check: bool = True, most: int = _MOST) -> list[Ran]:
        """Runs everything due now, then everything that becomes due as a result, and so on. Returns the attempts in
        order.

        Also plans the next execution of each job. Executions that are due later, or held by a limit, do not run. Raises
        AssertionError if a target has no handler, if a job cannot be planned, or if an execution is still due after
        ``most`` attempts. Unless ``check`` is False, also raises AssertionError, with the handler's traceback, if an
        attempt failed.
        """
        return _in_own_loop(self.run_due_async(check=check, most=most), "run_due_async")

    async def run_due_async(self, *, check: bool = True, most: int = _MOST) -> list[Ran]:
        """Async version of ``run_due``, which runs the handlers in the test's event loop."""
        return await self._stepping(None, check=check, most=most)

    def run_until(self, instant: datetime | str, *, check: bool = True, most: int = _MOST) -> list[Ran]:
        """Travels to an instant. On the way, stops whenever an execution is due, and runs it."""
        return _in_own_loop(self.run_until_async(instant, check=check, most=most), "run_until_async")

    async def run_until_async(self, instant: datetime | str, *, check: bool = True, most: int = _MOST) -> list[Ran]:
        """Async version of ``run_until``, which runs the handlers in the test's event loop."""
        return await self._stepping(instant_of(instant, "instant"), check=check, most=most)

    async def _stepping(self, until: datetime | None, *, check: bool, most: int) -> list[Ran]:
        self._check_alone()
        worker = SteppedWorker(self._url, self.app, patience=self._patience, **self._settings)
        try:
            await worker.open()
            found = await worker.run_due(most=most)
            while until is not None and self._move_on(until):
                found += await worker.run_due(most=most - len(found))
        finally:
            await worker.close()
        if check:
            _check(found)
        return found

    def _move_on(self, until: datetime) -> bool:
        """Travels to the next instant at which an execution is due, but no further than ``until``. Returns False if the
        clock was already stopped at ``until``.
        """
        if self.now() >= until and self._stands_still():
            return False
        [due] = self._session.execute(statement("testing/next_due")).fetchone() or (None,)
        self.travel_to(until if due is None else min(due, until))
        return True

    def scheduled(self, connection_or_session: psycopg.Connection[Any] | Executes | None = None) -> list[ScheduledCall]:
        """Returns the scheduled calls, earliest first, including uncommitted calls of this connection or session."""
        return scheduled.read(self._session if connection_or_session is None else connection_or_session)

    def assert_scheduled(
        self,
        target: str,
        *,
        key: str | None = ANYTHING,
        client: str = ANYTHING,
        payload: Any | Callable[[Any], bool] = ANYTHING,
        fire_at: datetime | str | None = None,
        delay: timedelta | str | None = None,
        within: timedelta | str = timedelta(seconds=5),
        cron: str | None = ANYTHING,
        every: timedelta | str | None = ANYTHING,
        connection: psycopg.Connection[Any] | Executes | None = None,
    ) -> ScheduledCall:
        """Asserts that a matching execution or job is scheduled, and returns it. Omitted arguments match anything.

        ``payload`` is a value to compare as JSON, or a function that decides whether a payload matches. ``fire_at``, or
        ``delay`` from now, may differ by ``within``. To see uncommitted calls, pass the ``connection`` or session that
        scheduled them. On failure, the error lists the calls that are scheduled, most similar first.
        """
        if delay is not None:
            fire_at = self.now() + length_of(delay)
        expected = Expected(
            target=target,
            key=key,
            client=client,
            payload=payload,
            fire_at=None if fire_at is None else instant_of(fire_at, "fire_at"),
            within=length_of(within),
            cron=cron,
            every=every if every is ANYTHING or every is None else length_of(every),
        )
        found = self.scheduled(connection)
        for one in scheduled.matching(found, expected):
            return one
        raise AssertionError(scheduled.nothing_like(found, expected))

    def assert_not_scheduled(
        self,
        target: str,
        *,
        key: str | None = ANYTHING,
        client: str = ANYTHING,
        payload: Any | Callable[[Any], bool] = ANYTHING,
        connection: psycopg.Connection[Any] | Executes | None = None,
    ) -> None:
        """Asserts that no matching execution or job is scheduled."""
        expected = Expected(target=target, key=key, client=client, payload=payload)
        if unwanted := scheduled.matching(self.scheduled(connection), expected):
            raise AssertionError(f"this is scheduled, but should not be:\n  {unwanted[0]}")

    def inline(self) -> AbstractContextManager[None]:
        """Within the block, an execution that is due now runs as soon as it is scheduled: ``schedule`` and
        ``schedule_async`` call the handler themselves, raise its exceptions, and store nothing. Executions that are due
        later or call no handler, and those scheduled by ``schedule_many`` or by plain SQL, are stored as usual.
        """
        return inline(self.app)

    def _stands_still(self) -> bool:
        [found] = self._session.execute(statement("testing/clock_stands_still")).fetchone() or (False,)
        return bool(found)

    def _let_clock_go_on(self) -> None:
        if self._stands_still():
            self._session.execute(statement("testing/restore_clock"))

    def _check_alone(self) -> None:
        if living := [name for (name,) in self._session.execute(statement("testing/living_workers"))]:
            raise RuntimeError(
                f"workers are serving this database ({', '.join(living)}): use a separate database for the tests"
            )


def _in_own_loop(work: Coroutine[Any, Any, _T], instead: str) -> _T:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    work.close()
    raise RuntimeError(f"an event loop is running here: write await kit.{instead}(…)")


def _check(found: Iterable[Ran]) -> None:
    if failed := [one for one in found if one.error is not None]:
        told = "\n".join(f"{one}\n{one.traceback or ''}".rstrip() for one in failed)
        raise AssertionError(f"{len(failed)} of the attempts failed:\n{told}")
