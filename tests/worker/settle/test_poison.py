"""A row that cannot be claimed, settled or planned stops only itself: it is parked with the reason."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from pgsched.delivery.app import App
from tests.worker.conftest import Connection, Recorder, Running, until, value


def app() -> App:
    found = App()

    @found.handler("quick")
    async def quick() -> None:
        pass

    return found


async def insert(db: Connection, **columns: str) -> None:
    """Insert a row as only a superuser can; each column is an SQL expression."""
    given = {"target": "'python:quick'", "fire_at": "now()", "client_id": "'shop'"} | columns
    names, values = ", ".join(given), ", ".join(given.values())
    await db.execute(f"insert into pgsched.executions ({names}) values ({values})".encode())


async def loosen(db: Connection) -> None:
    """Drop the domains' checks, so that unforeseen values can be stored."""
    for domain in ("instant", "payload", "options"):
        rules = await (
            await db.execute(
                "select conname from pg_constraint c join pg_type t on t.oid = c.contypid"
                " where t.typname = %s and t.typnamespace = 'pgsched_internal'::regnamespace",
                [domain],
            )
        ).fetchall()
        for (rule,) in rules:
            await db.execute(f'alter domain pgsched_internal.{domain} drop constraint "{rule}"'.encode())


async def refuse(db: Connection, rule: str) -> None:
    """Let the database refuse a change, as it would for an unforeseen value."""
    await db.execute(f"alter table pgsched.executions add constraint odd check ({rule})".encode())


async def plain(db: Connection) -> None:
    await refuse(db, "lease_token is null or client_id <> 'shop'")
    await insert(db)


async def under_an_ordering_key(db: Connection) -> None:
    await refuse(db, "at_head is null or client_id <> 'shop'")
    await insert(db, ordering_key="'o'", partition="pgsched.partition_for('default', 'shop', null, 'o')")


async def deferred(db: Connection) -> None:
    await refuse(db, "lease_token is null or lease_token <> 0 and options is null")
    await insert(db, options='\'{"deferred": "1h"}\'')


async def long_ago(db: Connection) -> None:
    await insert(
        db, fire_at="'0001-01-01 00:00Z'", ordering_key="'o'",
        partition="pgsched.partition_for('default', 'shop', null, 'o')",
    )  # fmt: skip


Arrange = Callable[[Connection], Awaitable[Any]]


@pytest.mark.parametrize("arrange", [plain, under_an_ordering_key, deferred])
async def test_a_row_that_cannot_be_claimed_is_parked_and_blocks_no_other_rows(
    db: Connection, running: Running, recorder: Recorder, arrange: Arrange
) -> None:
    await loosen(db)
    await arrange(db)
    await db.execute("select pgsched.schedule('python:quick', client => 'other') from generate_series(1, 40)")
    async with running(app()):
        await until(lambda: value(db, "select count(*) = 40 from pgsched.history where client_id = 'other'"))
        assert (await recorder.wait_for("execution.parked"))["how"] == "held"
    row = await (
        await db.execute(
            "select gate, reason, lease_token, attempt, fire_at = 'infinity' from pgsched.executions"
            " where client_id = 'shop'"
        )
    ).fetchone()
    assert row is not None
    assert row[0] == "error"
    assert row[1]
    assert row[2:] == (None, 0, True)


async def test_a_row_due_in_year_1_blocks_no_other_rows(db: Connection, running: Running) -> None:
    await loosen(db)
    await long_ago(db)
    await db.execute(
        "select pgsched.schedule('python:quick', client => 'other', ordering_key => 'k' || n)"
        " from generate_series(1, 40) n"
    )
    async with running(app()):
        await until(lambda: value(db, "select count(*) = 40 from pgsched.history where client_id = 'other'"))


@pytest.mark.parametrize("column", ["runs", "revision", "failures"])
async def test_a_job_counter_at_its_maximum_blocks_no_other_jobs(db: Connection, running: Running, column: str) -> None:
    await db.execute(
        "select pgsched.schedule('python:quick', every => '1 second', key => 'mine', client => 'shop',"
        """ rules => '{"max_runs": 1000000, "pause_after": 2}')"""
    )
    await db.execute(
        "select pgsched.schedule('python:quick', every => '1 second', key => 'other-' || n, client => 'other')"
        " from generate_series(1, 5) n"
    )
    async with running(app()):
        await until(lambda: value(db, "select count(*) > 5 from pgsched.executions"))
        await db.execute(f"update pgsched.jobs set {column} = 2147483647 where key = 'mine'".encode())
        before = await value(db, "select count(*) from pgsched.history where client_id = 'other'")
        await until(
            lambda: value(db, "select count(*) >= %s from pgsched.history where client_id = 'other'", before + 10),
        )


async def test_a_row_that_cannot_be_changed_is_skipped(db: Connection, running: Running, recorder: Recorder) -> None:
    await insert(db)
    await db.execute(
        "create function stop() returns trigger language plpgsql as $$ begin raise 'never'; end $$;"
        "create trigger stop before update or delete on pgsched.executions for each row"
        " when (old.client_id = 'shop') execute function stop()"
    )
    await db.execute("select pgsched.schedule('python:quick', client => 'other') from generate_series(1, 40)")
    async with running(app()):
        await until(lambda: value(db, "select count(*) = 40 from pgsched.history where client_id = 'other'"))
        assert (await recorder.wait_for("execution.parked"))["how"] == "left"
    await db.execute("drop trigger stop on pgsched.executions")


async def test_a_parked_row_runs_after_a_reschedule(db: Connection, running: Running, recorder: Recorder) -> None:
    await db.execute("alter table pgsched.executions add constraint odd check (lease_token is null or key is null)")
    await db.execute("select pgsched.schedule('python:quick', client => 'shop', key => 'k')")
    async with running(app()):
        await recorder.wait_for("execution.parked")
        shown = "select status::text, held_by, reason from pgsched.status where key = 'k'"
        row = await (await db.execute(shown.encode())).fetchone()
        assert row is not None
        assert row[:2] == ("held", "error")
        assert "odd" in row[2]
        await db.execute("alter table pgsched.executions drop constraint odd")
        await db.execute(
            "select pgsched.edit(client => 'shop', key => 'k', changes => jsonb_build_object('fire_at', now()))"
        )
        await until(lambda: value(db, "select count(*) = 1 from pgsched.history where key = 'k'"))


async def test_a_held_row_that_cannot_be_claimed_is_parked(
    db: Connection, running: Running, recorder: Recorder
) -> None:
    await refuse(db, "lease_token is null or options is null")
    await db.execute("select pgsched.set_limit('client', 'shop', rate => 100, per => '1 second')")
    held = {"fire_at": "'infinity'", "scheduled_for": "now()", "gate": "'client:shop'"}
    await insert(db, **held, options="'{\"priority\": 7}'")
    for _ in range(20):
        await insert(db, **held)
    async with running(app()):
        await until(lambda: value(db, "select count(*) = 20 from pgsched.history where client_id = 'shop'"))
        await recorder.wait_for("execution.parked")
    assert await value(db, "select gate from pgsched.executions") == "error"
