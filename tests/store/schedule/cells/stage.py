"""A database whose clock is set by hand, and a worker that acts only when called.

``pgsched.now()`` is replaced by a function that reads the clock from a table, so that planning, claiming, pausing and
settling all see the same moment. Nothing sleeps.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from uuid import UUID

from pgsched.domain.attempt_outcome import is_late
from pgsched.domain.execution import ClaimedExecution
from pgsched.domain.execution_options import parse_options
from pgsched.store.core.connect import Connection
from pgsched.store.core.wire import LONG_AGO, to_datetime, to_instant
from pgsched.store.ends import dependencies
from pgsched.store.jobs import unplanned_jobs
from pgsched.store.live import executions
from pgsched.store.live.executions import Finished, Lease, PartitionShare, Times
from tests.store.store_arrange import Connection as Session
from tests.store.store_arrange import column, value

CLOCK = """
create table public.clock (hand timestamptz not null);
insert into public.clock values (now());
grant select on public.clock to public;
create or replace function pgsched.now() returns timestamptz language sql stable parallel safe
  as 'select hand from public.clock';
"""
_TICK = timedelta(milliseconds=1)
_MICROSECOND = timedelta(microseconds=1)
_MANY_TURNS = 200
_NEXT_START = "select min(fire_at) from pgsched.executions where lease_token is null and fire_at < 'infinity'"
_DUE = "select distinct partition from pgsched.executions where fire_at <= %s and lease_token is null"
_QUEUED = "select id::text from pgsched.executions where fire_at = 'infinity' and scheduled_for <= %s"


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """The beginning of a run: when it was, when it was due, and its relation to a run that had not ended."""

    at: datetime
    fire_at: datetime
    towards_it: str | None
    stands_for_others: bool


@dataclass(slots=True)
class Stage:
    """The state of one story. ``in_hand`` are runs that have not ended; ``starts`` has all runs, by id."""

    db: Session
    worker: Connection
    now: datetime = datetime(2025, 1, 1, tzinfo=UTC)
    token: int = 0
    in_hand: list[ClaimedExecution] = field(default_factory=list)
    starts: dict[str, Start] = field(default_factory=dict)
    queued: set[str] = field(default_factory=set)
    claimed_last: datetime = datetime(2025, 1, 1, tzinfo=UTC)

    def travel(self, to: datetime) -> None:
        self.now = to
        self.db.execute("update public.clock set hand = %s", [to])

    async def plan(self) -> None:
        """Do what upkeep does: plan jobs that are new or edited, and release dependents."""
        await unplanned_jobs.plan_jobs(self.worker, batch=10, seconds=60)
        while (await dependencies.release(self.worker, most=10))[0]:
            pass

    async def claim(self) -> list[ClaimedExecution]:
        """Claim what is due now, with everything that a claim decides, and return the rows that run."""
        due = column(self.db, _DUE, [self.now + _TICK])
        if not due:
            return []
        self.token += 1
        lease = Lease(owner=1, token=self.token, length=timedelta(days=365), ahead=_TICK)
        shares = [PartitionShare(partition, LONG_AGO, 100) for partition in due]
        alive = self._alive()
        rows = (await executions.claim(self.worker, lease, shares, now=to_instant(self.now))).rows
        self.starts.update((row.uuid, self._start(row, ended=alive > self._alive())) for row in rows)
        self.queued.update(column(self.db, _QUEUED, [self.now]))
        self.claimed_last = self.now
        return rows

    async def settle(self, rows: Iterable[ClaimedExecution]) -> None:
        """Settle each as succeeded, or as expired if it may no longer begin."""
        for row in rows:
            age = (self.starts[row.uuid].at - row.nominal).total_seconds()
            late = is_late(parse_options(row.options), row.attempt, age)
            outcome, seconds = ("late", None) if late else ("succeeded", 0.1)
            ended = Finished(
                row.id, row.token, outcome, None, None, None, None if seconds is None else Times(LONG_AGO, seconds)
            )
            await executions.settle_finished(self.worker, row.partition, [ended])

    async def hold(self) -> None:
        """Claim what is due, and keep it in hand until ``finish``."""
        self.in_hand = await self.claim()
        assert self.in_hand, "nothing is due"

    async def finish(self) -> None:
        """End what is in hand, and do all that follows."""
        await self.settle(self.in_hand)
        await self.work()

    async def work(self) -> None:
        """Do everything that is due now, one turn after another. Each run ends at once."""
        for _ in range(_MANY_TURNS):
            await self.plan()
            due = self.next_start()
            if due is None or due > self.now + _TICK:
                return
            self.travel(self.now + _TICK)
            await self.settle(await self.claim())
        raise AssertionError("the work never ends")

    async def live(self, until: datetime) -> None:
        """Work until that moment, claiming each row at its instant."""
        await self.plan()
        while (due := self.next_start()) is not None and due <= until:
            self.travel(max(self.now, due))
            await self.work()
        self.travel(max(self.now, until))

    def next_start(self) -> datetime | None:
        found: datetime | None = value(self.db, _NEXT_START)
        return found

    def _alive(self) -> int:
        if not self.in_hand:
            return 0
        ids = [UUID(bytes=row.id) for row in self.in_hand]
        return int(value(self.db, "select count(*) from pgsched.executions where id = any (%s)", [ids]))

    def _start(self, row: ClaimedExecution, *, ended: bool) -> Start:
        fire_at = to_datetime(row.fire_at)
        towards_it = "in its place" if ended else "beside it" if self._alive() else None
        if row.uuid in self.queued:
            towards_it = "after it"
        stands_for_others = fire_at == self.claimed_last + _MICROSECOND
        return Start(at=self.now, fire_at=fire_at, towards_it=towards_it, stands_for_others=stands_for_others)
