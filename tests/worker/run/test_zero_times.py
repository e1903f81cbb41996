"""Extreme instants, such as the zero time of Go and .NET, work like all other instants."""

import pytest

from tests.worker.claim.test_foreign_notices import app_that_does_nothing
from tests.worker.conftest import Connection, Recorder, Running, until, until_history, value

ZERO = "0001-01-01T00:00:00Z"
WAYS = [
    {"ordering_key": "o"},
    {"options": '{"limit_key": "m"}'},
    {"key": "k"},
    {"options": '{"ordering": "block", "priority": 100}', "ordering_key": "p"},
]


@pytest.mark.parametrize("way", WAYS, ids=str)
async def test_an_execution_due_in_year_1_runs_and_delays_no_other_execution(
    db: Connection, running: Running, recorder: Recorder, way: dict[str, str]
) -> None:
    await db.execute("select pgsched.set_limit('key', 'default/m', rate => 1000)")
    await db.execute("select pgsched.set_limit('client', 'default', concurrency => 5)")
    named = "".join(f", {name} => '{text}'" for name, text in way.items())
    keyed = named.replace("'k'", "n::text")
    async with running(app_that_does_nothing()):
        one = f"select pgsched.schedule('python:nothing', fire_at => '{ZERO}'{keyed})"
        await db.execute(f"{one} from generate_series(1, 5) n".encode())
        await db.execute("select pgsched.schedule('python:nothing', client => 'healthy')")
        await until_history(db, 6)
    assert not recorder.named("service.failed")
    assert await value(db, "select min(scheduled_for) = '0001-01-01T00:00:00Z' from pgsched.history")


async def test_an_execution_due_in_year_1_can_be_pulled(db: Connection) -> None:
    await db.execute("select pgsched.create_queue('zero', '{\"pulled\": true}')")
    try:
        await db.execute(
            f"select pgsched.schedule('queue:', fire_at => '{ZERO}', queue => 'zero', ordering_key => 'o')".encode()
        )
        claim = "select id from pgsched.claim(queue => 'zero', worker => 'svc', batch => 10, lease => '30 s')"
        id = await until(lambda: value(db, claim))
        token = await value(db, "select lease_token from pgsched.executions where id = %s", id)
        await db.execute("select pgsched.complete(%s, %s)", [id, token])
        assert await value(db, "select scheduled_for = '0001-01-01T00:00:00Z' from pgsched.history")
    finally:
        await db.execute("delete from pgsched.history")
        await db.execute("select pgsched.drop_queue('zero')")


@pytest.mark.parametrize("instant", ["4713-01-01 BC", "9999-12-31T00:00:01Z", "294276-12-31Z"])
@pytest.mark.parametrize("insert", ["select pgsched.schedule('python:a', fire_at => %s)", "plain"])
async def test_an_instant_out_of_range_is_refused(db: Connection, instant: str, insert: str) -> None:
    import psycopg

    statement = (
        "insert into pgsched.executions (target, fire_at) values ('python:a', %s)" if insert == "plain" else insert
    )
    with pytest.raises(psycopg.Error) as raised:
        await db.execute(statement.encode(), [instant])
    assert raised.value.sqlstate == "PS002"
