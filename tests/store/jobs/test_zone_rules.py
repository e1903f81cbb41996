"""Rechecking planned rows against new time zone rules: which are moved, which stay, and what is recorded.

The installed rules stay the same: tests imitate older rules by moving rows.
"""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from uuid import UUID

import psycopg
import pytest
import pytest_asyncio

from pgsched.domain.recurrence import recurrence
from pgsched.domain.recurrence_rules import parse_rules
from pgsched.store.core.connect import Link
from pgsched.store.jobs import unplanned_jobs
from pgsched.telemetry import Events, Field
from pgsched.upkeep.zones import Zones
from tests.store.store_arrange import Connection, column, lease, row, schedule, value
from tests.worker.conftest import numbered

pytestmark = pytest.mark.oldest_postgresql

HOUR = timedelta(hours=1)
TEN_IN_BERLIN = {"cron": "0 10 * * *", "timezone": "Europe/Berlin"}
Emitted = list[tuple[str, dict[str, Field]]]


class Process:
    """A process that starts with a version of the rules, and the events it emits."""

    def __init__(self, url: str, version: str, number: int = 1) -> None:
        self.emitted: Emitted = []
        self.chores, self.link = Link(url, "chores"), Link(url, "zones", raw=False)
        listener = Events(lambda name, fields: self.emitted.append((name, fields)))
        self.zones = Zones(self.chores, self.link, listener, numbered(number), version=version)

    async def work(self) -> None:
        """Take turns until there is nothing left to do."""
        async with asyncio.timeout(20):
            while await self.zones.turn() < 60:
                pass

    async def stop(self) -> None:
        await self.chores.drop()
        await self.link.drop()


class Processes:
    def __init__(self, url: str, planning: psycopg.AsyncConnection) -> None:
        self.url, self.planning = url, planning
        self.made: list[Process] = []

    def start(self, version: str) -> Process:
        self.made.append(Process(self.url, version, len(self.made) + 1))
        return self.made[-1]


@pytest_asyncio.fixture
async def processes(db: Connection, store_url: str) -> AsyncIterator[Processes]:
    """Starts processes; the database has recorded 2025a."""
    db.execute("delete from pgsched_internal.facts; delete from pgsched.audit_log")
    db.execute("insert into pgsched_internal.facts (name, value) values ('tzdata', '2025a')")
    async with await psycopg.AsyncConnection.connect(store_url, autocommit=True) as planning:
        found = Processes(store_url, planning)
        yield found
        for process in found.made:
            await process.stop()


async def planned(db: Connection, processes: Processes, **given: object) -> UUID:
    """A job with its waiting row."""
    id = schedule(db, **({"target": "python:report"} | TEN_IN_BERLIN | given))
    async with processes.planning.transaction():
        await unplanned_jobs.plan_job(processes.planning, id)
    return id


def misplace(db: Connection, job: UUID, by: timedelta = HOUR) -> datetime:
    """Move the job's row to where older rules would have put it, and return the right instant."""
    right: datetime = value(db, "select scheduled_for from pgsched.executions where job_id = %s", [job])
    db.execute(
        "update pgsched.executions set scheduled_for = scheduled_for + %s, fire_at = fire_at + %s where job_id = %s",
        [by, by, job],
    )
    return right


def waits_for(db: Connection, job: UUID) -> datetime:
    found: datetime = value(db, "select scheduled_for from pgsched.executions where job_id = %s", [job])
    return found


def on_record(db: Connection) -> str:
    return str(value(db, "select value from pgsched_internal.facts where name = 'tzdata'"))


async def test_a_row_misplaced_by_old_zone_rules_is_moved_and_audited(db: Connection, processes: Processes) -> None:
    job = await planned(db, processes)
    right = misplace(db, job)
    process = processes.start("2025b")
    await process.work()
    assert row(db, "select scheduled_for, fire_at from pgsched.executions") == (right, right)
    logged = "select actor, subject, detail, before, after from pgsched.audit_log where action = 'tzdata'"
    actor, subject, detail, before, after = row(db, logged)
    assert (actor, subject) == ("pgsched", job)
    assert (detail["from"], detail["to"], detail["zone"]) == ("2025a", "2025b", "Europe/Berlin")
    assert datetime.fromisoformat(after["fire_at"]) == right
    assert datetime.fromisoformat(before["fire_at"]) == right + HOUR
    assert process.emitted == [("tzdata.changed", {"old": "2025a", "new": "2025b", "checked": 1, "moved": 1})]
    assert on_record(db) == "2025b"


async def test_only_the_job_whose_recheck_fails_is_marked_invalid(db: Connection, processes: Processes) -> None:
    odd = await planned(db, processes, key="odd")
    fine = [await planned(db, processes, key=f"fine-{n}") for n in range(4)]
    instants = [misplace(db, job) for job in fine]
    misplace(db, odd)
    db.execute(
        f"alter table pgsched.executions add constraint odd check (job_id is distinct from '{odd}'"
        f" or scheduled_for >= '{waits_for(db, odd)}')".encode()
    )
    try:
        await processes.start("2025b").work()
    finally:
        db.execute("alter table pgsched.executions drop constraint odd")
    assert [waits_for(db, job) for job in fine] == instants
    state, reason = row(db, "select state::text, reason from pgsched.jobs where id = %s", [odd])
    assert (state, "odd" in reason, on_record(db)) == ("invalid", True, "2025b")


async def test_a_correctly_placed_row_is_not_rewritten(db: Connection, processes: Processes) -> None:
    job = await planned(db, processes)
    before = row(db, "select id, xmin::text, scheduled_for from pgsched.executions where job_id = %s", [job])
    await processes.start("2025b").work()
    assert row(db, "select id, xmin::text, scheduled_for from pgsched.executions where job_id = %s", [job]) == before

    assert column(db, "select id from pgsched.audit_log where action = 'tzdata'") == []


async def test_moving_a_row_keeps_the_time_between_its_instant_and_its_start(
    db: Connection, processes: Processes
) -> None:
    job = await planned(db, processes)
    right = misplace(db, job)
    db.execute("update pgsched.executions set fire_at = fire_at + interval '90 seconds'")
    await processes.start("2025b").work()
    assert value(db, "select fire_at from pgsched.executions") == right + timedelta(seconds=90)


@pytest.mark.parametrize("given", [{"timezone": "UTC"}, {"cron": None, "timezone": None, "every": "1 hour"}])
async def test_jobs_without_zone_dependent_schedules_are_not_rechecked(
    db: Connection, processes: Processes, given: dict[str, object]
) -> None:
    job = await planned(db, processes, **given)
    wrong = misplace(db, job) + HOUR
    await processes.start("2025b").work()
    assert waits_for(db, job) == wrong


async def test_an_additional_schedules_zone_is_rechecked(db: Connection, processes: Processes) -> None:
    rules = {"also": [{"cron": "*/30 * * * *", "timezone": "Asia/Kolkata"}]}
    job = await planned(db, processes, timezone="UTC", rules=rules)
    misplace(db, job, timedelta(days=1))
    await processes.start("2025b").work()
    meant = recurrence(cron="0 10 * * *", timezone="UTC", rules=parse_rules(rules))
    assert waits_for(db, job) == meant.next_instant(value(db, "select updated_at from pgsched.jobs"))


async def test_a_recheck_does_not_move_a_leased_row(db: Connection, processes: Processes) -> None:
    job = await planned(db, processes)
    wrong = misplace(db, job) + HOUR
    lease(db, value(db, "select id from pgsched.executions"))
    await processes.start("2025b").work()
    assert waits_for(db, job) == wrong
    assert on_record(db) == "2025b"


async def test_an_instant_moved_into_the_past_by_new_zone_rules_still_runs(
    db: Connection, processes: Processes
) -> None:
    """The job ran yesterday. The old rules make it wait for an instant that the new rules put a minute ago."""
    now: datetime = value(db, "select date_trunc('minute', now())")
    passed = (now - timedelta(minutes=1)).astimezone(UTC)
    job = await planned(db, processes, cron=f"{passed.minute} {passed.hour} * * *", timezone="Etc/UTC")
    db.execute("update pgsched.jobs set updated_at = now() - interval '30 days'")
    db.execute("update pgsched.executions set scheduled_for = %s, fire_at = %s", [passed + HOUR, passed + HOUR])
    db.execute(
        "insert into pgsched.history (finished_at, fire_at, scheduled_for, created_at, id, job_id, status, partition,"
        " attempt, client_id, target)"
        " values (now(), %s, %s, now(), pgsched_internal.new_id(), %s, 'succeeded', 0, 1, 'default', 'notify:a')",
        [passed - 23 * HOUR, passed - 23 * HOUR, job],
    )
    await processes.start("2025b").work()
    assert waits_for(db, job) == passed


async def test_a_locked_job_is_rechecked_later(db: Connection, processes: Processes) -> None:
    first, second = [await planned(db, processes, key=key) for key in "ab"]
    misplace(db, first)
    right = misplace(db, second)
    process = processes.start("2025b")
    with psycopg.connect(processes.url) as other:
        other.execute("select from pgsched.jobs where id = %s for update", [first])
        assert await process.zones.turn() == 0.0
        assert await process.zones.turn() == 2.0
        assert (waits_for(db, second), on_record(db)) == (right, "2025a")
    await process.work()
    assert len(column(db, "select id from pgsched.audit_log where action = 'tzdata'")) == 2
    assert process.emitted[-1][1]["checked"] == 2


async def test_a_new_process_finishes_an_interrupted_recheck(db: Connection, processes: Processes) -> None:
    made = [await planned(db, processes, key=str(n)) for n in range(60)]
    right = {job: misplace(db, job) for job in made}
    crashed = processes.start("2025b")
    assert await crashed.zones.turn() == 0.0
    assert value(db, "select count(*) from pgsched.audit_log where action = 'tzdata'") == 50
    await crashed.stop()
    assert on_record(db) == "2025a"
    await processes.start("2025b").work()
    assert {job: waits_for(db, job) for job in made} == right
    assert value(db, "select count(*) from pgsched.audit_log where action = 'tzdata'") == 60


async def test_only_one_process_rechecks_at_a_time(db: Connection, processes: Processes) -> None:
    job = await planned(db, processes)
    misplace(db, job)
    first, second = processes.start("2025b"), processes.start("2025b")
    db.execute(
        "insert into pgsched.workers (id, name, queues, release, expires_at) overriding system value"
        " select n, 'w', '{default}', '0', now() + interval '1 hour' from generate_series(1, 9) n"
    )
    assert await first.zones.turn() == 0.0
    assert await second.zones.turn() == 2.0
    await first.work()
    await second.work()
    assert second.emitted == []


async def test_another_process_takes_over_the_recheck_of_a_lost_process(db: Connection, processes: Processes) -> None:
    job = await planned(db, processes)
    right = misplace(db, job)
    first, second = processes.start("2025b"), processes.start("2025b")
    assert await first.zones.turn() == 0.0
    await second.work()  # the first is no longer registered
    assert waits_for(db, job) == right


async def test_a_process_with_older_zone_rules_emits_an_event_and_moves_no_row(
    db: Connection, processes: Processes
) -> None:
    job = await planned(db, processes)
    await processes.start("2025b").work()
    wrong = misplace(db, job) + HOUR
    older = processes.start("2025a")
    for _ in range(2):
        assert await older.zones.turn() == 60.0
    assert older.emitted == [("tzdata.behind", {"version": "2025a", "planned_by": "2025b"})]
    assert (on_record(db), waits_for(db, job)) == ("2025b", wrong)


async def test_a_new_process_rechecks_rows_planned_with_older_zone_rules(db: Connection, processes: Processes) -> None:
    job = await planned(db, processes)
    newer = processes.start("2025b")
    await newer.work()
    await processes.start("2025a").work()
    right = misplace(db, job)
    await newer.work()
    assert waits_for(db, job) == right + HOUR
    await processes.start("2025b").work()
    assert waits_for(db, job) == right
    assert column(db, "select name from pgsched_internal.facts") == ["tzdata"]


async def test_the_first_process_records_the_zone_rules_version(db: Connection, processes: Processes) -> None:
    db.execute("delete from pgsched_internal.facts")
    process = processes.start("2025b")
    await process.work()
    assert (on_record(db), process.emitted) == ("2025b", [])


async def test_a_job_whose_time_zone_no_longer_exists_is_left_to_the_planner(
    db: Connection, processes: Processes
) -> None:
    job = await planned(db, processes)
    db.execute("update pgsched.jobs set timezone = 'Atlantis/Capital'")
    await processes.start("2025b").work()
    assert column(db, "select id from pgsched.executions") == []
    assert value(db, "select planned_revision from pgsched.jobs where id = %s", [job]) == 0
    assert value(db, "select after ->> 'fire_at' from pgsched.audit_log where action = 'tzdata'") is None


async def test_a_pause_concurrent_with_a_recheck_causes_no_deadlock(db: Connection, processes: Processes) -> None:
    job = await planned(db, processes)
    misplace(db, job)
    process = processes.start("2025b")
    with psycopg.connect(processes.url) as other:
        other.execute("select pgsched.pause('job', %s::text)", [job])
        await process.zones.turn()
    await process.work()
    assert column(db, "select id from pgsched.executions") == []
    assert column(db, "select id from pgsched.audit_log where action = 'tzdata'") == []
