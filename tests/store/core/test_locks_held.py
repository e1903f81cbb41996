"""An open transaction of a client holds few locks, however many queues there are, and none on claimed executions."""

from collections.abc import Iterator
from typing import Any
from uuid import UUID

import psycopg
import pytest

from pgsched.store.core.sql import statement
from tests.store.admin.queue_arrange import queue, session
from tests.store.ends.dead_letter_arrange import dead_letter
from tests.store.store_arrange import (
    TARGET,
    Connection,
    call,
    column,
    finish,
    lease,
    planned,
    refused,
    row,
    schedule,
    value,
)

pytestmark = pytest.mark.oldest_postgresql

QUEUES = 5  # besides default and pulled; together they have more partitions than MOST
MOST = 100
MOST_LOOKED_UP = 150
MOST_OF_A_QUEUE = 220  # sixteen tables with ten indexes each, and a few more
PLANS = 6  # unless prevented, the sixth call in a session gets a generic plan, which locks all partitions
BY_HAND = "insert into pgsched.executions (target, fire_at) values (%s, now() + interval '1 hour') returning id"


@pytest.fixture(scope="module")
def queues_url(module_url: str) -> str:
    """A database with seven queues and six weeks of history."""
    with session(module_url) as connection:
        for number in range(QUEUES):
            queue(connection, f"queue-{number}")
        queue(connection, "pulled", pulled=True)
        connection.execute(
            "do $$ begin for n in 1..42 loop"
            " execute format('create table pgsched_internal.history_%s partition of pgsched.history"
            " for values from (%L) to (%L)', to_char(current_date - n, 'YYYYMMDD'),"
            " (current_date - n)::text || ' 00:00+00', (current_date - n + 1)::text || ' 00:00+00');"
            " end loop; end $$"
        )
    return module_url


@pytest.fixture
def db(queues_url: str) -> Iterator[Connection]:
    with session(queues_url) as connection:
        yield connection
        connection.execute("delete from pgsched.executions; delete from pgsched.history; delete from pgsched.jobs")
        connection.execute("delete from pgsched_internal.keys")  # else the next test would find the same keys


def locks(db: Connection) -> int:
    """Return how many locks this session holds on tables and indexes of pgsched."""
    return int(
        value(
            db,
            "select count(*) from pg_locks l join pg_class c on c.oid = l.relation where l.pid = pg_backend_pid()"
            " and c.relnamespace in ('pgsched'::regnamespace, 'pgsched_internal'::regnamespace)",
        )
    )


def assert_few(db: Connection, function: str, **arguments: Any) -> None:
    """Call a function until it has a generic plan, and check that each call holds few locks."""
    held = [locks_of(db, function, arguments, undone=number < PLANS) for number in range(PLANS + 1)]
    assert max(held) <= MOST, f"{function} holds {held} locks"


def locks_of(db: Connection, function: str, arguments: dict[str, Any], *, undone: bool) -> int:
    with db.transaction(force_rollback=undone):
        call(db, function, **arguments)
        return locks(db)


def inserted(db: Connection) -> UUID:
    """A plain insert, whose id does not contain the partition."""
    [id] = column(db, BY_HAND, [TARGET])
    return UUID(str(id))


def test_scheduling_with_a_key_holds_few_locks(db: Connection) -> None:
    for name, given in ((None, None), ("ordering_key", "o"), ("queue", "queue-3"), ("on_conflict", "keep")):
        also = {name: given} if name else {}
        assert_few(db, "schedule", target=TARGET, key="k", delay="1 hour", **also)


def test_scheduling_with_an_ended_executions_key_holds_few_locks(db: Connection) -> None:
    finish(db, schedule(db, key="k"))
    assert_few(db, "schedule", target=TARGET, key="k")


@pytest.mark.parametrize("made", [schedule, inserted])
def test_cancelling_and_rescheduling_by_id_hold_few_locks(db: Connection, made: Any) -> None:
    assert_few(db, "edit", id=made(db), changes={"fire_at": "2040-01-01T00:00:00Z"})
    assert_few(db, "cancel", id=made(db))


@pytest.mark.parametrize("made", [schedule, inserted])
def test_cancelling_an_ended_execution_holds_few_locks(db: Connection, made: Any) -> None:
    for ago in ("0 seconds", "40 days"):
        id = made(db)
        finish(db, id, ago=ago)
        assert_few(db, "cancel", id=id)


def test_cancelling_by_key_holds_few_locks(db: Connection) -> None:
    schedule(db, key="k")
    assert_few(db, "cancel", client="default", key="k")
    assert_few(db, "cancel", client="default", key="k")


def test_a_plain_insert_holds_few_locks(db: Connection) -> None:
    for number in range(PLANS + 1):
        with db.transaction():
            db.execute(
                "insert into pgsched.executions (target, fire_at, key, partition)"
                " select %s, now(), k, pgsched.partition_for('default', 'default', k) from (select %s::text) as v (k)",
                [TARGET, str(number)],
            )
            assert locks(db) <= MOST


def test_scheduling_with_predecessors_holds_few_locks(db: Connection) -> None:
    before = schedule(db, key="before")
    assert_few(db, "schedule", target=TARGET, after=[str(before)])
    assert_few(db, "schedule", target=TARGET, key="k", after=["before"])
    [held] = column(db, BY_HAND.replace("now() + interval '1 hour'", "'infinity'"), [TARGET])
    assert_few(db, "pgsched_internal.wait_for", execution_id=held, after_id=before)


@pytest.mark.parametrize("ago", ["1 hour", "40 days"])
def test_replaying_and_discarding_a_dead_letter_hold_few_locks(db: Connection, ago: str) -> None:
    assert_few(db, "replay", id=dead_letter(db, ago=ago))
    assert_few(db, "replay", id=dead_letter(db, key="k", ago=ago))
    assert_few(db, "discard", id=dead_letter(db, ago=ago))


def test_changing_a_job_holds_few_locks(db: Connection) -> None:
    job = schedule(db, key="job", every="1 hour")
    planned(db, job)
    assert_few(db, "trigger", job_id=job)
    assert_few(db, "schedule", target=TARGET, key="job", every="2 hours")
    assert_few(db, "edit", id=job, changes={"every": "3h"})
    assert_few(db, "edit", id=job, changes={"queue": "queue-4"})
    assert_few(db, "pause", kind="job", name=str(job))
    assert_few(db, "resume", kind="job", name=str(job))
    assert_few(db, "cancel", id=job)


def test_scheduling_a_key_again_does_not_lock_its_running_execution(db: Connection, queues_url: str) -> None:
    running = schedule(db, key="k")
    lease(db, running)
    given: list[dict[str, Any]] = [
        {},
        {"ordering_key": "o"},
        {"queue": "queue-1"},
        {"on_conflict": "keep"},
        {"on_conflict": "debounce"},
        {"on_conflict": "debounce", "ordering_key": "o"},
    ]
    with session(queues_url) as worker:
        for arguments in given:
            with db.transaction(force_rollback=True):
                schedule(db, key="k", **arguments)
                taken = column(worker, "select id from pgsched.executions where lease_token = 1 for update nowait")
                assert taken == [running], arguments


def test_a_refused_edit_does_not_lock_the_running_execution(db: Connection, queues_url: str) -> None:
    running = schedule(db, key="k")
    lease(db, running)
    with session(queues_url) as worker, session(queues_url) as client, client.transaction():
        for function, arguments in (
            ("edit", {"id": running, "changes": {"fire_at": "2040-01-01T00:00:00Z"}}),
            ("edit", {"client": "default", "key": "k", "changes": {"fire_at": "2040-01-01T00:00:00Z"}}),
        ):
            with refused("PS011"), client.transaction():
                call(client, function, **arguments)
        assert column(worker, "select id from pgsched.executions for update nowait") == [running]


def test_scheduling_a_key_waits_while_another_session_edits_its_row(db: Connection, queues_url: str) -> None:
    id = schedule(db, key="k")
    with session(queues_url) as other:
        other.execute("set lock_timeout = '100ms'")
        with db.transaction():
            call(db, "edit", id=id, changes={"fire_at": "2040-01-01T00:00:00Z"})
            with pytest.raises(psycopg.errors.LockNotAvailable):
                schedule(other, key="k")


def test_settling_a_pulled_execution_holds_few_locks(db: Connection) -> None:
    for verb, also in (("complete", ""), ("fail", ", 'no'"), ("extend", ""), ("release", "")):
        call(db, "schedule", target="queue:", queue="pulled")
        taken = db.execute("select id, token from pgsched.claim('pulled', 'me')").fetchone()
        with db.transaction():
            db.execute(f"select pgsched.{verb}(%s, %s{also})".encode(), taken)
            assert locks(db) <= MOST, verb
        db.execute("delete from pgsched.executions")


@pytest.mark.parametrize("waiting", [0, 1, 200])
def test_a_pull_claim_locks_only_the_claimed_queue(db: Connection, waiting: int) -> None:
    first = value(db, "select first_partition from pgsched.queues where name = 'pulled'")
    db.execute(
        "insert into pgsched.executions (target, fire_at, partition, ordering_key)"
        " select 'queue:', now(), pgsched.partition_for('pulled', 'default', null, o), o"
        "   from generate_series(1, %s) as n, lateral (select case n %% 3 when 0 then 'o' || n end as o) drawn",
        [waiting],
    )
    with db.transaction():
        db.execute("select pgsched.claim('pulled', 'me', 100)")
        held = value(db, "select count(distinct l.relation) from pg_locks l where l.pid = pg_backend_pid()")
        others = value(
            db,
            "select count(*) from pg_locks l join pg_class c on c.oid = l.relation where l.pid = pg_backend_pid()"
            " and c.relname ~ '^executions_[0-9]+' and substring(c.relname from '[0-9]+')::int / 16 <> %s",
            [first // 16],
        )
    assert (others, held <= (MOST if waiting < 16 else MOST_OF_A_QUEUE)) == (0, True), held


def test_the_until_next_function_locks_only_the_given_queue(db: Connection) -> None:
    with db.transaction():
        db.execute("select pgsched_internal.until_next('pulled')")
        assert locks(db) <= MOST_OF_A_QUEUE


@pytest.mark.parametrize("ago", [None, "0 seconds", "40 days"])
def test_calling_status_of_holds_few_locks(db: Connection, ago: str | None) -> None:
    for id in (schedule(db, key="k"), schedule(db, key="other", queue="queue-3"), inserted(db)):
        if ago is not None:
            finish(db, id, ago=ago)
        with db.transaction():
            assert db.execute("select count(*) from pgsched.status_of(%s)", [id]).fetchone() == (1,)
            assert locks(db) <= MOST_LOOKED_UP
    with db.transaction():
        assert value(db, "select key from pgsched.status_of(client => 'default', key => 'k')") == "k"
        assert locks(db) <= MOST_LOOKED_UP


def test_starting_a_bulk_operation_holds_few_locks(db: Connection) -> None:
    schedule(db, client="shop")
    assert_few(db, "bulk", action="cancel", filter={"client": "shop"})


def test_the_lock_estimate_for_a_status_reader_is_accurate(db: Connection) -> None:
    known, _, _ = row(db, statement("core/room_for_locks"))
    with db.transaction():
        db.execute("select from pgsched.status where client_id = 'default' and key = 'k'")
        held = locks(db)
    assert 0.95 * held <= known <= 1.05 * held
