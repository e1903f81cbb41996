"""Rights of roles: a client acts on its own rows, a reader only reads, PUBLIC may do nothing."""

from collections.abc import Iterator
from uuid import UUID

import psycopg
import pytest
from psycopg import sql

from tests.store.store_arrange import (
    TARGET,
    Connection,
    acting,
    call,
    column,
    counts,
    finish,
    lease,
    login_role,
    on_job,
    planned,
    refused,
    row,
    schedule,
    status,
    value,
)

pytestmark = [pytest.mark.oldest_postgresql, pytest.mark.smoke]

DENIED = "42501"


@pytest.fixture
def reader(db: Connection, store_url: str) -> Iterator[Connection]:
    role = login_role(db, "pgsched_reader")
    with acting(store_url, role) as session:
        yield session
    db.execute(sql.SQL("drop role {}").format(sql.Identifier(role)))


@pytest.fixture
def anybody(db: Connection, store_url: str) -> Iterator[Connection]:
    role = login_role(db, None)
    with acting(store_url, role) as session:
        yield session
    db.execute(sql.SQL("drop role {}").format(sql.Identifier(role)))


def test_a_client_can_schedule_edit_and_cancel_its_own_executions(payments: Connection) -> None:
    id = schedule(payments, client="payments", key="k", payload={"n": 1})
    assert schedule(payments, client="payments", key="k", payload={"n": 2}) == id
    call(payments, "edit", id=id, changes={"fire_at": "2040-01-01T00:00:00Z"})
    assert call(payments, "cancel", client="payments", key="k") is True
    assert status(payments, id) == "cancelled"
    assert call(payments, "cancel", id=schedule(payments, client="payments")) is True


def test_a_client_can_schedule_and_control_its_own_jobs(payments: Connection) -> None:
    job = schedule(payments, client="payments", key="nightly", cron="@daily")
    assert schedule(payments, client="payments", key="nightly", cron="@hourly") == job
    assert call(payments, "pause", kind="job", name=str(job), note="closed") is True
    assert call(payments, "resume", kind="job", name=str(job)) is True
    assert status(payments, call(payments, "trigger", job_id=job)) == "scheduled"
    assert call(payments, "cancel", id=job) is True


def test_editing_a_clients_job_updates_its_waiting_execution(db: Connection, payments: Connection) -> None:
    job = schedule(payments, client="payments", every="1 hour")
    planned(db, job)
    assert call(payments, "edit", id=job, changes={"target": "python:other"}) is True
    assert column(payments, "select target from pgsched.executions") == ["python:other"]
    assert value(payments, "select planned_revision = revision from pgsched.jobs") is True
    assert call(payments, "edit", id=job, changes={"every": "30m", "labels": {"team": "a"}}) is True
    assert counts(payments) == (0, 1, 0)


def test_a_clients_bulk_operations_affect_only_its_own_jobs(db: Connection, payments: Connection) -> None:
    for client in ("payments", "payments", "billing"):
        schedule(db, client=client, every="1 hour", labels={"team": "a"})
    for action in ("pause", "resume", "cancel_jobs"):
        asked = 'select matched from pgsched.bulk(%s, \'{"labels": {"team": "a"}}\')'
        assert value(payments, asked, [action]) == 2
    with refused("PS012"):
        payments.execute("select pgsched.bulk('cancel_jobs', '{\"client\": \"billing\"}')")
    states = "select client_id::text, state::text from pgsched.jobs order by 1, 2"
    assert db.execute(states).fetchall() == [
        ("billing", "active"),
        ("payments", "cancelled"),
        ("payments", "cancelled"),
    ]


def test_a_clients_actions_are_logged_under_its_role_by_default(db: Connection, payments: Connection) -> None:
    job = schedule(payments, client="payments", every="1 hour")
    call(payments, "pause", kind="job", name=str(job))
    call(payments, "resume", kind="job", name=str(job), actor="ann")
    role = value(payments, "select session_user::text")
    assert column(db, "select actor from pgsched.audit_log where subject = %s order by id", [job]) == [
        role,
        role,
        "ann",
    ]


def test_cancelling_a_clients_job_skips_its_planned_execution(db: Connection, payments: Connection) -> None:
    job = schedule(payments, client="payments", every="1 hour")
    db.execute(
        "insert into pgsched.executions (fire_at, scheduled_for, job_id, plan, partition, client_id, target)"
        " select now(), now(), id, revision, pgsched_internal.partition_of(j), client_id, target from pgsched.jobs j"
    )
    call(payments, "cancel", id=job)
    assert column(payments, "select status::text from pgsched.status") == ["skipped"]


def test_a_client_may_insert_executions_and_jobs(payments: Connection) -> None:
    payments.execute(
        "insert into pgsched.executions (target, fire_at, client_id) select %s, now(), 'payments'"
        " from generate_series(1, 3)",
        [TARGET],
    )
    payments.execute("insert into pgsched.jobs (target, cron, client_id) values (%s, '@daily', 'payments')", [TARGET])
    assert counts(payments) == (3, 1, 0)


def test_a_client_cannot_change_a_running_execution_by_scheduling_its_key(db: Connection, payments: Connection) -> None:
    id = schedule(payments, client="payments", key="k", payload={"n": 1})
    lease(db, id)
    assert schedule(payments, client="payments", key="k", payload={"n": 2}) == id
    assert value(payments, "select payload from pgsched.executions") == {"n": 1}
    assert call(payments, "cancel", id=id) is True


def test_a_client_does_not_see_other_clients_rows(db: Connection, payments: Connection) -> None:
    schedule(db, client="billing", key="k")
    schedule(db, client="billing", every="1 hour")
    ended = schedule(db, client="billing")
    call(db, "cancel", id=ended)
    db.execute(
        "insert into pgsched.attempts (finished_at, execution_id, attempt, client_id, error) values"
        " (now(), %s, 1, 'billing', 'x')",
        [ended],
    )
    db.execute("insert into pgsched.progress (execution_id, partition, client_id) values (%s, 0, 'billing')", [ended])
    assert counts(payments) == (0, 0, 0)
    assert column(payments, "select id from pgsched.status") == []
    assert column(payments, "select error from pgsched.attempts") == []
    assert column(payments, "select note from pgsched.progress") == []
    assert column(payments, "select client_id from pgsched.clients") == ["payments"]


def test_a_client_cannot_act_on_other_clients_rows(db: Connection, payments: Connection) -> None:
    execution = schedule(db, client="billing", key="k")
    job = schedule(db, client="billing", every="1 hour")
    for id in (execution, job):
        with refused("PS010"):
            call(payments, "cancel", id=id)
    with refused("PS012"):
        call(payments, "cancel", client="billing", key="k")
    with refused("PS010"):
        call(payments, "edit", id=execution, changes={"fire_at": "2040-01-01T00:00:00Z"})
    for function in ("trigger", "pause", "resume"):
        with refused("PS010"):
            call(payments, function, **on_job(function, job))
    with refused("PS010"):
        call(payments, "edit", id=job, changes={"target": "python:stolen"})


@pytest.mark.parametrize(
    "statement",
    [
        "delete from pgsched.executions",
        "update pgsched.executions set target = 'python:other'",
        "delete from pgsched.jobs",
        "update pgsched.jobs set target = 'python:other'",
        "select 1 from pgsched.executions for update",
        "select 1 from pgsched.jobs for share",
        "lock table pgsched.executions in row exclusive mode nowait",
        "select lease_token from pgsched.executions",
        "select options from pgsched.queues",
        "insert into pgsched.executions (id, target, fire_at, client_id) values (pgsched_internal.new_id(),"
        " 'python:x', now(), 'payments')",
        "insert into pgsched.jobs (id, target, cron, client_id) values (pgsched_internal.new_id(), 'python:x',"
        " '@daily', 'payments')",
    ],
)
def test_a_client_may_not_update_delete_or_lock_its_own_rows_directly(payments: Connection, statement: str) -> None:
    schedule(payments, client="payments")
    schedule(payments, client="payments", every="1 hour")
    if "lock table" in statement and payments.info.server_version >= 160000:
        statement = statement.replace("row exclusive", "share")  # since 16, the insert right allows this lock
    with refused(DENIED), payments.transaction():
        payments.execute(statement.encode())


@pytest.mark.parametrize("client", ["billing", "default", "unheard-of"])
@pytest.mark.parametrize("key", [None, "k"])
def test_a_client_cannot_schedule_for_other_clients(payments: Connection, client: str, key: str | None) -> None:
    with refused("PS012"):
        schedule(payments, client=client, key=key)
    with refused("PS012"):
        schedule(payments, client=client, key=key, every="1 hour")
    with refused(DENIED):
        payments.execute(
            "insert into pgsched.executions (target, fire_at, client_id) values ('python:x', now(), %s)", [client]
        )
    with refused(DENIED):
        payments.execute(
            "insert into pgsched.jobs (target, cron, client_id) values ('python:x', '@daily', %s)", [client]
        )
    assert counts(payments) == (0, 0, 0)


def test_a_client_cannot_replace_another_clients_key(db: Connection, payments: Connection) -> None:
    schedule(db, client="billing", key="k", payload={"n": 1})
    with refused("PS012"):
        schedule(payments, client="billing", key="k", payload={"n": 2})
    assert column(db, "select payload from pgsched.executions") == [{"n": 1}]


def test_a_client_may_not_reassign_its_executions(payments: Connection) -> None:
    schedule(payments, client="payments")
    with refused(DENIED):
        payments.execute("update pgsched.executions set client_id = 'billing'")


@pytest.mark.parametrize(
    "change",
    [
        "lease_owner = 9",
        "lease_token = 9",
        "lease_expires_at = now()",
        "partition = 3",
        "plan = 1",
        "id = pgsched_internal.new_id()",
    ],
)
def test_a_client_may_not_update_worker_columns(payments: Connection, change: str) -> None:
    schedule(payments, client="payments")
    with refused(DENIED):
        payments.execute(f"update pgsched.executions set {change}".encode())


def test_a_client_may_not_insert_history(payments: Connection) -> None:
    with refused(DENIED):
        payments.execute(
            "insert into pgsched.history (finished_at, fire_at, scheduled_for, created_at, id,"
            " status, partition, attempt,"
            " client_id, target) values (now(), now(), now(), now(), pgsched_internal.new_id(), 'succeeded',"
            " 0, 1, 'payments', %s)",
            [TARGET],
        )


@pytest.mark.parametrize(
    "query",
    [
        "select sealed from pgsched_internal.signing_secrets",
        "update pgsched.clients set keep = 'nothing'",
        "select * from pgsched_internal.api_keys",
        "select * from pgsched.workers",
        "delete from pgsched.audit_log",
        "select pgsched_internal.make_day('history', current_date)",
        "select pgsched_internal.drop_day('history_20200101')",
        "insert into pgsched.queues values ('mine', 16)",
        "delete from pgsched.history",
        "update pgsched.jobs set planned_revision = 0",
        "create table pgsched.mine ()",
        "truncate pgsched.executions",
    ],
)
def test_a_client_may_not_read_secrets_or_write_system_tables(payments: Connection, query: str) -> None:
    with refused(DENIED):
        payments.execute(query.encode())


def test_a_role_without_a_client_sees_and_schedules_nothing(db: Connection, store_url: str) -> None:
    role = login_role(db, "pgsched_client")
    schedule(db)
    with acting(store_url, role) as session:
        assert counts(session) == (0, 0, 0)
        with refused("PS012"):
            schedule(session)
    db.execute(sql.SQL("drop role {}").format(sql.Identifier(role)))


def test_two_clients_may_share_a_role(db: Connection, payments: Connection) -> None:
    role = value(db, "select database_role from pgsched.clients where client_id = 'payments'")
    db.execute("update pgsched.clients set database_role = %s where client_id = 'billing'", [role])
    schedule(payments, client="payments")
    schedule(payments, client="billing")
    assert set(column(payments, "select client_id from pgsched.status")) == {"payments", "billing"}


def test_a_reader_sees_every_clients_rows(db: Connection, reader: Connection) -> None:
    id: UUID = schedule(db, client="billing")
    schedule(db, client="payments", every="1 hour")
    assert counts(reader) == (1, 1, 0)
    assert status(reader, id) == "scheduled"
    for table in ("attempts", "queues", "workers", "audit_log"):
        reader.execute(sql.SQL("select * from {}").format(sql.Identifier("pgsched", table)))
    assert row(reader, "select client_id, keep::text from pgsched.clients") == ("default", "all")


@pytest.mark.parametrize(
    "query",
    [
        "select pgsched.schedule('https://shop.example/')",
        "select pgsched.cancel(pgsched_internal.new_id())",
        "insert into pgsched.executions (target, fire_at) values ('https://shop.example/', now())",
        "update pgsched.executions set fire_at = now()",
        "delete from pgsched.executions",
        "update pgsched.jobs set state = 'paused'",
        "delete from pgsched.history",
        "select sealed from pgsched_internal.signing_secrets",
        "select hash from pgsched_internal.api_keys",
        "select pgsched_internal.drop_day('history_20200101')",
    ],
)
def test_a_reader_may_neither_change_rows_nor_read_secrets(db: Connection, reader: Connection, query: str) -> None:
    schedule(db)
    with refused(DENIED):
        reader.execute(query.encode())


@pytest.mark.parametrize(
    "query",
    [
        "select * from pgsched.status",
        "select * from pgsched.queues",
        "select pgsched.schedule('https://shop.example/')",
        "select pgsched.now()",
        "insert into pgsched.executions (target, fire_at) values ('https://shop.example/', now())",
    ],
)
def test_a_role_without_rights_can_neither_read_nor_schedule(anybody: Connection, query: str) -> None:
    with refused(DENIED):
        anybody.execute(query.encode())


def test_a_client_can_debounce_while_its_keys_execution_is_running(db: Connection, payments: Connection) -> None:
    running = schedule(payments, client="payments", key="k")
    lease(db, running)
    following = schedule(payments, client="payments", key="k", on_conflict="debounce")
    assert (status(db, running), status(db, following)) == ("running", "scheduled")


def test_a_client_may_depend_on_its_own_running_executions(db: Connection, payments: Connection) -> None:
    first, second = schedule(payments, client="payments"), schedule(payments, client="payments", key="k")
    lease(db, first)
    last = schedule(payments, client="payments", after=[str(first), "k"])
    assert set(column(payments, "select after_id from pgsched.dependencies")) == {first, second}
    assert call(payments, "cancel", id=second)
    assert value(db, "select decided from pgsched_internal.release_dependents(10, null)") == 1
    assert status(payments, last) == "skipped"


def test_a_client_cannot_depend_on_another_clients_execution(db: Connection, payments: Connection) -> None:
    theirs = schedule(db, client="billing", key="k")
    for name in (str(theirs), "k"):
        with refused("PS010"):
            schedule(payments, client="payments", after=[name])


def test_a_client_does_not_see_other_clients_dependencies(db: Connection, payments: Connection) -> None:
    schedule(db, client="billing", after=[str(schedule(db, client="billing"))])
    assert column(payments, "select 1 from pgsched.dependencies") == []
    for statement in ("delete from pgsched.dependencies", "update pgsched.dependencies set status = 'succeeded'"):
        with refused(DENIED):
            payments.execute(statement.encode())


@pytest.mark.parametrize("step", ["release_dependents(1, null)", "release_abandoned(1, null)"])
def test_a_client_may_not_release_dependents(payments: Connection, step: str) -> None:
    with refused(DENIED):
        payments.execute(f"select pgsched_internal.{step}".encode())


def locked_rows(db: Connection, table: str) -> int:
    """Count the table's locked rows, which ``skip locked`` skips."""
    free = len(column(db, f"select 1 from {table} for update skip locked".encode()))
    return int(value(db, f"select count(*) from {table}".encode())) - free


@pytest.mark.parametrize(
    ("verb", "table"),
    [
        ("cancel(%s)", "pgsched.executions"),
        ("edit(%s, '{}')", "pgsched.executions"),
        ("complete(%s, 1)", "pgsched.executions"),
        ("fail(%s, 1, 'x')", "pgsched.executions"),
        ("extend(%s, 1)", "pgsched.executions"),
        ("release(%s, 1)", "pgsched.executions"),
        ("cancel(%s)", "pgsched.jobs"),
        ("edit(%s, '{}')", "pgsched.jobs"),
        ("pause('job', %s::text)", "pgsched.jobs"),
        ("resume('job', %s::text)", "pgsched.jobs"),
        ("trigger(%s)", "pgsched.jobs"),
        (
            "bulk('backfill', jsonb_build_object('job', %s, 'from', now() - interval '1 h', 'to', now()))",
            "pgsched.jobs",
        ),
        ("replay(%s)", "pgsched.history"),
        ("discard(%s)", "pgsched.history"),
        ("stop_bulk(%s)", "pgsched.bulk_operations"),
    ],
)
def test_another_clients_id_is_not_found_and_locks_no_row(
    db: Connection, payments: Connection, verb: str, table: str
) -> None:
    failed = schedule(db, client="billing")
    finish(db, failed, ended="failed")
    schedule(db, client="billing")
    schedule(db, client="billing", every="1 hour")
    db.execute("select pgsched.bulk('replay', '{\"client\": \"billing\"}')")
    theirs = value(db, f"select id from {table} limit 1".encode())
    said = []
    for id in (theirs, value(db, "select pgsched_internal.new_id()")):
        with payments.transaction(force_rollback=True):
            with pytest.raises(psycopg.Error) as caught, payments.transaction():
                payments.execute(f"select pgsched.{verb}".encode(), [id])
            said.append((caught.value.sqlstate, str(caught.value.diag.message_primary).replace(str(id), "…")))
            assert locked_rows(db, table) == 0
    assert said[0] == said[1]
    assert said[0][0] == "PS010"


def test_operators_a_client_creates_do_not_bypass_row_level_security(db: Connection, payments: Connection) -> None:
    schedule(db, client="billing", payload={"secret": 1})
    db.execute("grant create on schema public to public")
    for types in ("name, name", "text, text", "text, name"):
        left, right = types.split(", ")
        payments.execute(f"create function public.yes({types}) returns boolean language sql return true".encode())
        payments.execute(
            f"create operator public.= (function = public.yes, leftarg = {left}, rightarg = {right})".encode()
        )
    payments.execute("set search_path = public, pg_catalog")
    assert column(payments, "select payload from pgsched.executions") == []
    assert column(payments, "select client_id from pgsched.clients") == ["payments"]
    with refused(DENIED):
        payments.execute(
            "insert into pgsched.executions (client_id, target, fire_at) values ('billing', 'python:x', now())"
        )
    with refused("PS012"):
        call(payments, "cancel", client="billing", key="k")
    payments.execute(
        "insert into pgsched.executions (client_id, target, fire_at) values ('payments', 'python:x', now())"
    )
    db.execute(
        sql.SQL("drop owned by {}").format(
            sql.Identifier(value(db, "select database_role from pgsched.clients where client_id = 'payments'"))
        )
    )
