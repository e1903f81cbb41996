"""Findings on settings, schema revision, indexes, roles, room for locks, and drift of the schema."""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest
from psycopg import sql

from pgsched.store.admin.indexes import rebuild_indexes
from pgsched.store.admin.migrate import migrate
from pgsched.store.core import lock_capacity
from tests.conftest import Connection
from tests.store.doctor.doctor_arrange import look, make_days, register, seen
from tests.store.store_arrange import value

MENDED = {
    "drop sequence pgsched_internal.watch_0": "sequence pgsched_internal.watch_0",
    "drop sequence pgsched_internal.watch_1": "sequence pgsched_internal.watch_1",
    "delete from pgsched_internal.executions_0; drop table pgsched_internal.executions_0": "executions_0",
    "alter table pgsched.executions detach partition pgsched_internal.executions_3": "executions_3",
    "alter table pgsched.executions detach partition pgsched_internal.executions_20": "executions_20",
    "revoke update on pgsched_internal.executions_3 from pgsched_worker": "table pgsched_internal.executions_3",
    "alter table pgsched_internal.executions_3 enable row level security": "table pgsched_internal.executions_3",
    "alter table pgsched.history force row level security": "table pgsched.history",
    "alter table pgsched.executions disable row level security": "table pgsched.executions",
    "alter table pgsched.workers enable row level security": "table pgsched.workers",
    "alter table pgsched.executions disable trigger executions_keys": "trigger executions_keys on pgsched.executions",
    "alter table pgsched.jobs disable trigger user": "trigger jobs_keys on pgsched.jobs",
    "alter function pgsched.now() strict": "function pgsched.now()",
    "grant select on pgsched_internal.locks to public": "rights on pgsched_internal.locks",
    "alter table pgsched.jobs add constraint few check (queue <> 'x')": "constraint few of pgsched.jobs",
    "create policy all_of_it on pgsched.jobs using (true)": "policy all_of_it on pgsched.jobs",
}
_GROUPS = 4
"""Repairs are slow, so several changes are repaired at once. Within a group, no change hides another."""

TOLD = {
    "create rule lost as on delete to pgsched.jobs do instead nothing": "rule lost",
    "alter sequence pgsched.workers_id_seq maxvalue 1000": "sequence pgsched.workers_id_seq",
    "alter table pgsched_internal.executions_3 set unlogged": "table pgsched_internal.executions_3",
    'alter table pgsched.workers alter name type text collate "C"': "column pgsched.workers.name",
}


@pytest.mark.parametrize(
    ("setting", "text"),
    [
        ("plpgsql.variable_conflict = use_variable", "plpgsql.variable_conflict is use_variable"),
        ("default_transaction_read_only = on", "accepts no writes"),
    ],
)
async def test_an_incompatible_setting_is_reported_as_an_error(
    db: Connection, database_url: str, setting: str, text: str
) -> None:
    db.execute(sql.SQL("alter database {} set " + setting).format(sql.Identifier(db.info.dbname)))
    [found] = await look(database_url, "settings")
    assert (found.severity, text in found.seen) == ("error", True)
    assert f"alter database … reset {setting.partition(' ')[0]}, or the same for the role" in found.do


async def test_an_older_schema_is_an_error_and_changed_functions_a_warning(db: Connection, database_url: str) -> None:
    db.execute("update pgsched_internal.facts set value = 'another' where name = 'interface'")
    assert [severity for severity, _ in await seen(database_url, "schema")] == ["warning"]
    db.execute("update pgsched.schema_version set version_num = 'pgsched_9999'")
    assert [severity for severity, _ in await seen(database_url, "schema")] == [
        "warning"
    ]  # newer, so it supports this release
    db.execute("update pgsched.schema_version set version_num = 'pgsched_0000'")
    [found] = await look(database_url, "schema")
    assert (found.severity, found.do) == ("error", "run pgsched migrate.")
    assert "pgsched_0000" in found.seen


async def test_an_invalid_index_is_reported_as_an_error(db: Connection, database_url: str) -> None:
    db.execute("select pgsched.schedule('python:note', every => '1 hour') from generate_series(1, 2)")
    with pytest.raises(psycopg.errors.UniqueViolation):
        db.execute("create unique index concurrently one_job_each on pgsched.jobs (client_id)")
    assert await seen(database_url, "indexes") == [("error", "the index pgsched.one_job_each is not valid")]


@contextmanager
def _altered(db: Connection, there: str, back: str) -> Iterator[None]:
    db.execute(there.encode())
    try:
        yield
    finally:
        db.execute(back.encode())


async def test_missing_and_overprivileged_roles_are_reported(db: Connection, database_url: str) -> None:
    too_much, as_before = "createrole bypassrls", "nocreaterole nobypassrls"
    with _altered(db, f"alter role pgsched_worker {too_much}", f"alter role pgsched_worker {as_before}"):
        [found] = await look(database_url, "roles")
    assert found.severity == "warning"
    assert found.do == "Run alter role pgsched_worker nobypassrls nocreaterole."
    with _altered(db, "alter role pgsched_reader rename to gone", "alter role gone rename to pgsched_reader"):
        assert await seen(database_url, "roles") == [("error", "the role pgsched_reader is missing")]


async def test_a_worker_with_a_superuser_login_is_reported_as_a_warning(db: Connection, database_url: str) -> None:
    await register(database_url)
    [(severity, text)] = await seen(database_url, "roles")
    assert (severity, text.startswith("a worker logs in as the role postgres, which has")) == ("warning", True)


async def test_too_little_lock_capacity_is_reported_with_the_setting(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lock_capacity, "READERS", 1_000_000)
    found = {finding.severity: finding for finding in await look(database_url, "locks")}
    assert "set max_locks_per_transaction" in found["warning"].do
    assert "any login can fill" in found["note"].seen


async def test_drift_is_reported_and_migrate_repairs_replaceable_objects(db: Connection, database_url: str) -> None:
    assert await seen(database_url, "drift") == []
    db.execute("select pgsched.create_queue('orders')")
    await make_days(database_url, ahead=1)
    assert await seen(database_url, "drift") == []  # partitions come and go
    for change in _BY_HAND:
        db.execute(change.encode())
    missing, changed, added = await look(database_url, "drift")
    assert [one.severity for one in (missing, changed, added)] == ["error", "warning", "note"]
    assert missing.seen.endswith(": index pgsched.jobs_labels, policy mine on pgsched.jobs")
    assert changed.seen.endswith(
        ": column pgsched.jobs.reason, function pgsched.now(), rights on pgsched.jobs, table pgsched.workers"
    )
    assert added.seen.endswith(": index pgsched.by_hand")
    migrate(database_url, anew=True)
    missing, changed = await look(database_url, "drift")
    assert missing.seen.endswith(": index pgsched.jobs_labels")
    assert changed.seen.endswith(": column pgsched.jobs.reason, table pgsched.workers")


_BY_HAND = (
    "drop index pgsched.jobs_labels",
    "drop policy mine on pgsched.jobs",
    "alter table pgsched.jobs alter reason set default 'x'",
    "create or replace function pgsched.now() returns timestamptz language sql stable as 'select clock_timestamp()'",
    "grant delete on pgsched.jobs to pgsched_reader",
    "alter table pgsched.workers reset (fillfactor)",
    "create index by_hand on pgsched.workers (name)",
)


@pytest.mark.parametrize("number", range(_GROUPS))
async def test_repairable_drift_is_reported_and_repaired_by_migrate(
    db: Connection, database_url: str, number: int
) -> None:
    db.execute("select pgsched.create_queue('orders', '{\"pulled\": true}')")
    db.execute("select pgsched.schedule('python:note', delay => '1 day') from generate_series(1, 50)")
    await make_days(database_url, ahead=1)
    assert await seen(database_url, "drift") == []
    for by_hand in list(MENDED)[number::_GROUPS]:
        for one in by_hand.split("; "):
            db.execute(one.encode())
        found = await seen(database_url, "drift")
        assert [severity for severity, _ in found] == [_severity(text) for _, text in found]
        assert any(MENDED[by_hand] in text for _, text in found), by_hand
    migrate(database_url, anew=True)
    rebuild_indexes(database_url)
    assert await seen(database_url, "drift") == []
    db.execute("select pgsched.schedule('queue:', queue => 'orders')")
    assert value(db, "select count(*) from pgsched.executions where target = 'queue:'") == 1


def _severity(text: str) -> str:
    return "error" if text.startswith("missing") else "warning"


async def test_drift_that_migrate_cannot_repair_is_still_reported(db: Connection, database_url: str) -> None:
    for by_hand, told in TOLD.items():
        db.execute(by_hand.encode())
        assert told in str(await seen(database_url, "drift"))
    migrate(database_url, anew=True)
    found = str(await seen(database_url, "drift"))
    assert [told for told in TOLD.values() if told not in found] == []


async def test_changed_object_owners_are_reported_and_restored_by_migrate(db: Connection, database_url: str) -> None:
    db.execute("create role another")
    try:
        for what in ("table pgsched_internal.executions_3", "view pgsched.status", "function pgsched.now()"):
            db.execute(f"alter {what} owner to another".encode())
        [found] = await look(database_url, "drift")
        assert found.seen.endswith("function pgsched.now(), table pgsched_internal.executions_3, view pgsched.status")
        assert found.do.startswith("Change the owner back with alter … owner to pgsched_owner, ")
        db.execute("reassign owned by pgsched_owner to another")
        [found] = await look(database_url, "drift")
        assert " more" in found.seen
        migrate(database_url, anew=True)
        assert await seen(database_url, "drift") == []
    finally:
        db.execute("drop owned by another; drop role another")


async def test_a_revoked_right_on_a_sequence_is_reported_and_restored(db: Connection, database_url: str) -> None:
    db.execute("revoke usage on sequence pgsched.workers_id_seq from pgsched_worker")
    assert await seen(database_url, "drift") == [
        ("warning", "changed since pgsched was migrated: rights on pgsched.workers_id_seq")
    ]
    migrate(database_url, anew=True)
    assert await seen(database_url, "drift") == []


async def test_a_sequence_behind_its_table_is_reported_and_advanced(db: Connection, database_url: str) -> None:
    for _ in range(3):
        await register(database_url)
    db.execute("select pgsched.set_client('shop', '{\"weight\": 2}')")
    for name in ("workers", "audit_log"):
        db.execute(f"alter sequence pgsched.{name}_id_seq restart".encode())
    assert await seen(database_url, "drift") == [
        ("error", "the sequence pgsched.audit_log_id_seq is at 0, but its table already contains 1"),
        ("error", "the sequence pgsched.workers_id_seq is at 0, but its table already contains 1"),
    ]
    migrate(database_url)
    assert await seen(database_url, "drift") == []
    assert await register(database_url) == 4


async def test_a_sequence_restarted_at_unused_numbers_is_not_reported(db: Connection, database_url: str) -> None:
    first = await register(database_url)
    db.execute("update pgsched.workers set id = 2147483000 where id = %s", [first])
    db.execute("alter sequence pgsched.workers_id_seq restart")
    assert await seen(database_url, "drift") == []


async def test_another_postgresql_versions_catalog_record_is_not_compared(db: Connection, database_url: str) -> None:
    db.execute(
        "update pgsched_internal.facts set value = jsonb_set(value::jsonb, '{server}', '\"9\"')::text"
        " where name = 'catalogue'"
    )
    db.execute("drop index pgsched.jobs_labels")
    assert [severity for severity, _ in await seen(database_url, "drift")] == ["note"]
    db.execute(  # as after a restore from another version, or an upgrade of the server
        "update pgsched_internal.facts set value = regexp_replace(value, ' 1[0-9] ', ' 9 ') where name = 'interface'"
    )
    assert [severity for severity, _ in await seen(database_url, "schema")] == ["warning"]
    migrate(database_url)
    assert await seen(database_url, "drift") + await seen(database_url, "schema") == []
