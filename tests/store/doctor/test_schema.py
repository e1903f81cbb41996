"""Settings, revision, indexes, roles and room for locks that are not as this release needs them."""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest
from psycopg import sql

from pgsched.store.admin.migrate import migrate
from pgsched.store.core import room
from tests.conftest import Connection
from tests.store.doctor.doctor_arrange import look, make_days, register, seen


@pytest.mark.parametrize(
    ("setting", "text"),
    [
        ("plpgsql.variable_conflict = use_variable", "plpgsql.variable_conflict is use_variable"),
        ("default_transaction_read_only = on", "takes no writes"),
    ],
)
async def test_a_setting_with_which_pgsched_cannot_be_there_is_an_error(
    db: Connection, database_url: str, setting: str, text: str
) -> None:
    db.execute(sql.SQL("alter database {} set " + setting).format(sql.Identifier(db.info.dbname)))
    [(severity, found)] = await seen(database_url, "settings")
    assert (severity, text in found) == ("error", True)


async def test_a_schema_of_another_revision_is_an_error_and_other_functions_a_warning(
    db: Connection, database_url: str
) -> None:
    db.execute("update pgsched_internal.facts set value = 'another' where name = 'interface'")
    assert [severity for severity, _ in await seen(database_url, "schema")] == ["warning"]
    db.execute("update pgsched.schema_version set version_num = 'pgsched_9999'")
    assert [severity for severity, _ in await seen(database_url, "schema")] == ["warning"]  # it serves this release
    db.execute("update pgsched.schema_version set version_num = 'pgsched_0000'")
    [found] = await look(database_url, "schema")
    assert (found.severity, found.do) == ("error", "run pgsched migrate.")
    assert "pgsched_0000" in found.seen


async def test_an_index_that_was_not_built_to_its_end_is_an_error(db: Connection, database_url: str) -> None:
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


async def test_a_role_that_may_do_too_much_or_is_missing_is_told(db: Connection, database_url: str) -> None:
    too_much, as_before = "createrole bypassrls", "nocreaterole nobypassrls"
    with _altered(db, f"alter role pgsched_worker {too_much}", f"alter role pgsched_worker {as_before}"):
        [found] = await look(database_url, "roles")
    assert found.severity == "warning"
    assert found.do == "Take it away: alter role pgsched_worker nobypassrls nocreaterole."
    with _altered(db, "alter role pgsched_reader rename to gone", "alter role gone rename to pgsched_reader"):
        assert await seen(database_url, "roles") == [("error", "the role pgsched_reader is missing")]


async def test_a_worker_that_logs_in_as_a_superuser_is_told(db: Connection, database_url: str) -> None:
    await register(database_url)
    [(severity, text)] = await seen(database_url, "roles")
    assert (severity, text.startswith("a worker logs in as postgres, which has")) == ("warning", True)


async def test_too_little_room_for_locks_is_told_with_what_to_set(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room, "READERS", 1_000_000)
    found = {finding.severity: finding for finding in await look(database_url, "locks")}
    assert "set max_locks_per_transaction" in found["warning"].do
    assert "any login can fill" in found["note"].seen


async def test_what_somebody_changes_by_hand_is_told_and_what_is_replaced_can_be_mended(
    db: Connection, database_url: str
) -> None:
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


async def test_a_record_of_another_version_of_postgresql_is_not_compared(db: Connection, database_url: str) -> None:
    db.execute(
        "update pgsched_internal.facts set value = jsonb_set(value::jsonb, '{server}', '\"9\"')::text"
        " where name = 'catalogue'"
    )
    db.execute("drop index pgsched.jobs_labels")
    assert [severity for severity, _ in await seen(database_url, "drift")] == ["note"]
    migrate(database_url, anew=True)
    assert await seen(database_url, "drift") == []
