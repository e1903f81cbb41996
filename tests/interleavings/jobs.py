"""A recurring job with two instants, each of which must be accounted for, whoever claims, dies or changes the job."""

from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, LiteralString

from pgsched.domain.execution import ClaimedExecution
from pgsched.store.ends import dependencies
from pgsched.store.jobs.unplanned_jobs import plan_jobs
from tests.interleavings.scenes import EMPTIED, Scene

INSTANTS = {"00:00", "01:00"}
_JOB: LiteralString = """
insert into pgsched.jobs (client_id, key, target, every, anchor, accounted_to, rules)
values ('shop', 'a', 'python:x', '1 h', '2020-01-01Z', '2019-12-31 23:59Z',
        '{"ends_at": "2020-01-01T02:00:00Z"}'::jsonb || %(rules)s::jsonb)"""
_STATE: LiteralString = """
select to_char(e.scheduled_for at time zone 'UTC', 'HH24:MI'), 'live', e.attempt::int, e.lease_owner::int, e.plan::int,
       e.gate, case when e.fire_at = 'infinity' then 'held' when e.fire_at > now() then 'later' else 'due' end
  from pgsched.executions e
union all
select to_char(i at time zone 'UTC', 'HH24:MI'), h.status::text, h.attempt::int, null, h.plan::int,
       split_part(h.reason, ' ', 1), null
  from pgsched.history h,
       generate_series(h.scheduled_for, least(coalesce(h.last_scheduled_for, h.scheduled_for), '2020-01-01 01:00Z'),
                       interval '1 h') as i
order by 1, 2, 3, 4"""
_OF_THE_JOB: LiteralString = "select state::text, planned_revision = revision, revision from pgsched.jobs"


@dataclass(kw_only=True)
class JobScene(Scene):
    """One job, whose instants at midnight and one o'clock have passed. ``overlapping`` allows both to run at once."""

    rules: str = "{}"
    overlapping: bool = False

    def name_of(self, row: ClaimedExecution) -> str:
        return f"{row.nominal:%H:%M}"

    async def set_up(self) -> None:
        async with self.session.transaction(), self.session.pipeline():
            for statement in (*EMPTIED, b"delete from pgsched.jobs", b"delete from pgsched.dependencies"):
                await self.session.execute(statement)
            await self.session.execute(_JOB, {"rules": self.rules})
        await plan_jobs(self.session, batch=10)
        await self.begin_the_account()

    async def look(self) -> Hashable:
        """Returns the state. No instant may be accounted for twice, an active job must have a row, and runs overlap
        only if that is allowed."""
        rows, job = await self._read()
        state, planned, _ = job
        places = Counter(row[0] for row in rows)
        assert set(places) <= INSTANTS, f"not an instant of the job: {rows}"
        assert max(places.values(), default=0) <= 1, f"two accounts of an instant: {rows}"
        live = [row for row in rows if row[1] == "live"]
        assert live or state != "active" or not planned, f"the job is active but has no row: {rows}"
        in_hand = [row for row in live if row[3] is not None]
        assert self.overlapping or len(in_hand) <= 1, f"runs overlap: {rows}"
        self.check_ends({row[0]: row[3] for row in live}, {row[0]: row[1] for row in rows if row[1] != "live"})
        return tuple(rows), job, self.account()

    async def finish(self) -> None:
        """A last worker plans and runs what is left; then the job has ended, and each instant is accounted for."""
        await self.do_what_is_left(6)
        await self.look()
        rows, job = await self._read()
        assert job[0] in ("finished", "cancelled"), f"the job never ends: {job} {rows}"
        assert all(row[1] != "live" for row in rows), f"it never ends: {rows}"
        assert {row[0] for row in rows} == INSTANTS, f"an instant has no account: {rows}"

    async def _read(self) -> tuple[list[tuple[Any, ...]], tuple[Any, ...]]:
        """Reads the rows of its instants and the job itself."""
        rows = await (await self.session.execute(_STATE)).fetchall()
        job = await (await self.session.execute(_OF_THE_JOB)).fetchone()
        assert job is not None
        return rows, job

    async def carry_on(self) -> None:
        await self.session.execute("select pgsched.resume('job', id::text) from pgsched.jobs where state = 'paused'")
        await plan_jobs(self.session, batch=10)
        await dependencies.release(self.session, most=10)
