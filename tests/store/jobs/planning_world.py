"""The database for the planning laws: a clock that the test sets, planners, claimers, and a view of its rows."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any, LiteralString, NamedTuple
from uuid import UUID

import psycopg
from psycopg.types.json import Jsonb

from pgsched.domain.execution import ClaimedExecution
from pgsched.store.core.connect import Connection
from pgsched.store.core.wire import LONG_AGO, to_instant
from pgsched.store.ends import dependencies
from pgsched.store.jobs import unplanned_jobs
from pgsched.store.live import executions
from pgsched.store.live.executions import Finished, Group, Lease, PartitionShare, Times
from tests.store.jobs.planning_instants import Spec
from tests.store.jobs.planning_model import Account
from tests.store.store_arrange import Connection as Session
from tests.store.store_arrange import reap, value

_CLOCK = """
create table test_clock (at timestamptz not null);
insert into test_clock values (now());
grant select on test_clock to public;
create or replace function pgsched.now() returns timestamptz language sql stable as 'select at from public.test_clock';
"""
_LIVE = """
select id, job_id, scheduled_for, lease_token is not null, attempt, plan, fire_at = 'infinity' from pgsched.executions
"""
_ENDED = """
select id, job_id, nullif(scheduled_for, 'infinity'), last_scheduled_for, instants, status::text, reason
  from pgsched.history where finished_at >= %s
"""
_SCHEDULE: LiteralString = """
select pgsched.schedule('python:x', key => %s, cron => %s, every => %s::interval, timezone => %s, rules => %s)
"""
_JOBS = "select id, state::text, revision, planned_revision = revision, runs, reason, accounted_to from pgsched.jobs"


class Live(NamedTuple):
    """A row of pgsched.executions."""

    id: UUID
    job: UUID
    scheduled_for: datetime | None
    in_hand: bool
    attempt: int
    plan: int | None
    held: bool


class Job(NamedTuple):
    """A row of pgsched.jobs."""

    id: UUID
    state: str
    revision: int
    planned: bool
    runs: int
    reason: str | None
    accounted_to: datetime


Looked = tuple[dict[UUID, Job], dict[UUID, list[Live]]]


class World:
    """One database for all runs. Nothing in it changes except through these methods."""

    def __init__(self, db: Session, hands: Sequence[Connection], planners: Sequence[Connection]) -> None:
        self.db, self.hands, self.planners = db, hands, planners
        self.now = self._seen = datetime.min
        self.in_hand: dict[int, list[ClaimedExecution]] = {}
        self.ended: dict[UUID, tuple[UUID, Account]] = {}
        self._tokens = 0
        self._looked: Looked | None = None

    def clear(self, now: datetime) -> None:
        self.has_changed()
        self.db.execute(
            "delete from pgsched.executions; delete from pgsched.jobs; delete from pgsched.history;"
            " delete from pgsched.attempts; delete from pgsched.dependencies"
        )
        self.in_hand, self.ended, self._seen = {}, {}, now
        self.travel_to(now)

    def travel_to(self, now: datetime) -> None:
        self.now = now
        self.db.execute("update public.test_clock set at = %s", [now])

    def has_changed(self) -> None:
        """Drop the cached view. To be called before anything that may change a row; time alone changes none."""
        self._looked = None

    def change(self, query: LiteralString, *parameters: Any) -> Any:
        """Call a function with nothing else going on."""
        self.has_changed()
        return value(self.db, query, list(parameters))

    def look(self) -> Looked:
        """Return the jobs and their live rows. Raises AssertionError if an execution has ended twice."""
        if self._looked is None:
            self._looked = self._look()
        return self._looked

    def _look(self) -> Looked:
        with self.db.pipeline():
            found, rows = self.db.execute(_JOBS), self.db.execute(_LIVE)
            ended = self.db.execute(_ENDED, [self._seen])
        self._read_ended(ended.fetchall())
        live: dict[UUID, list[Live]] = defaultdict(list)
        for row in rows:
            live[row[1]].append(Live._make(row))
        return {row[0]: Job._make(row) for row in found}, live

    def _read_ended(self, rows: list[tuple[Any, ...]]) -> None:
        new = set[UUID]()
        for id, job, *told in rows:
            assert id not in new, f"{id} has ended twice: {told}"
            new.add(id)
            if told[0] is not None:
                names = ("scheduled_for", "last", "instants", "status", "reason")
                account = Account(id=id, **dict(zip(names, told, strict=True)))
                assert self.ended.setdefault(id, (job, account)) == (job, account), f"{id} has ended twice: {told}"
        self._seen = self.now

    def is_blocked(self) -> bool:
        """Return whether the session of ``call`` waits for a lock."""
        return bool(value(self.db, "select cardinality(pg_blocking_pids(%s))", [self.planners[-1].info.backend_pid]))

    async def schedule(self, key: str, spec: Spec) -> UUID:
        given = [spec.schedule.given.get(name) for name in ("cron", "every", "timezone")]
        rules = spec.rules()
        id = await self.call(_SCHEDULE, key, *given, Jsonb(rules) if rules else None)
        assert isinstance(id, UUID)
        return id

    async def claim(
        self, claimer: int, partitions: Sequence[int], *, batch: int, lease: timedelta, ahead: timedelta
    ) -> list[ClaimedExecution]:
        self._tokens += 1
        terms = Lease(owner=claimer, token=self._tokens, length=lease, ahead=ahead)
        shares = [PartitionShare(partition, LONG_AGO, batch) for partition in partitions]
        hand = self.hands[claimer % len(self.hands)]
        answer = await executions.claim(hand, terms, shares, now=to_instant(self.now))
        self.in_hand.setdefault(claimer, []).extend(answer.rows)
        return answer.rows

    async def settle(self, claimer: int, how: str) -> None:
        """Settle a claimer's rows whose instant has come, or release all of them."""
        hand = self.hands[claimer % len(self.hands)]
        rows = self.in_hand.pop(claimer, [])
        ready = [row for row in rows if how == "release" or row.scheduled_for <= to_instant(self.now)]
        if len(ready) < len(rows):
            self.in_hand[claimer] = [row for row in rows if row not in ready]
        found: dict[int, list[ClaimedExecution]] = defaultdict(list)
        for row in ready:
            found[row.partition].append(row)
        for partition, settled in found.items():
            group = Group([row.id for row in settled], [row.token for row in settled])
            match how:
                case "succeed":
                    await executions.settle_succeeded(hand, None, {partition: group})
                case "fail":
                    ends = [
                        Finished(row.id, row.token, "failed", 500, None, "no", Times(LONG_AGO, 0.1)) for row in settled
                    ]
                    await executions.settle_finished(hand, partition, ends)
                case "retry":
                    tries = [
                        Finished(
                            row.id,
                            row.token,
                            "failed",
                            503,
                            None,
                            "busy",
                            Times(LONG_AGO, 0.1),
                            retryable=True,
                            wait=400.0,
                        )
                        for row in settled
                    ]
                    await executions.settle_finished(hand, partition, tries)
                case _:
                    await executions.release(hand, partition, group)

    async def reap(self, partitions: Sequence[int], owners: list[int]) -> None:
        """Take rows back. Their claimers do not notice, and settle in vain."""
        for partition in partitions:
            await reap(self.planners[0], partition, owners)

    async def plan(self, planner: int) -> None:
        _, invalid, _ = await unplanned_jobs.plan_jobs(self.planners[planner], batch=100)
        assert not invalid, invalid

    async def release(self) -> None:
        await dependencies.release(self.planners[0], most=100)

    async def call(self, query: LiteralString, *parameters: Any) -> Any:
        """Call a function in another session. Returns None if the job's state does not allow it."""
        try:
            cursor = await self.planners[-1].execute(query, parameters)
        except psycopg.Error as error:
            if error.sqlstate != "PS011":
                raise
            return None
        row = await cursor.fetchone()
        return row[0] if row else None


@contextmanager
def own_clock(url: str) -> Iterator[None]:
    """Make the database use a clock that the test sets."""
    with psycopg.connect(url, autocommit=True) as session:
        session.execute(_CLOCK)
        yield
