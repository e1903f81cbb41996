"""sql: targets, end to end: what a function does commits with its execution, or not at all."""

from typing import Any

import pytest

from tests.worker.call_arrange import LOGIN, acting, define, reason, schedule
from tests.worker.conftest import Connection, Running, until, until_history, value


async def test_a_function_runs_as_the_clients_role_and_its_result_is_kept(
    billing: Connection, running: Running
) -> None:
    async with running(sql_login=LOGIN):
        id = await schedule(billing, payload={"n": 7})
        await until_history(billing, 1)
    rows = await (await billing.execute("select * from billing.settled")).fetchall()
    assert rows == [(id, 7, "billing", "billing")]
    assert await value(billing, "select result from pgsched.history") == {"settled": 7}
    assert await value(billing, "select count(*) from pgsched.executions") == 0


RETURNED: list[tuple[str, str, Any]] = [
    ("void", "begin end", None),
    ("integer", "begin return null; end", None),
    ("integer", "begin return 3; end", 3),
    ("record", "declare r record; begin select 1 as a, 'x' as b into r; return r; end", {"a": 1, "b": "x"}),
    ("setof integer", "begin end", None),
]


async def test_a_return_value_of_any_type_is_stored_as_json(billing: Connection, running: Running) -> None:
    function = "create function billing.act_{}(payload jsonb) returns {} language plpgsql as $$ {} $$"
    for number, (returns, body, _) in enumerate(RETURNED):
        await define(billing, function.format(number, returns, body))
    async with running(sql_login=LOGIN):
        for number in range(len(RETURNED)):
            await schedule(billing, f"sql:billing.act_{number}")
        await until_history(billing, len(RETURNED))
    found = await billing.execute("select result from pgsched.history order by target")
    assert [row[0] for row in await found.fetchall()] == [result for _, _, result in RETURNED]


async def test_a_function_can_read_its_execution_attempt_instant_and_client(
    billing: Connection, running: Running
) -> None:
    await define(
        billing,
        "create function billing.act(payload jsonb) returns text[] language sql as $$ select array["
        "current_setting('pgsched.execution_id'), current_setting('pgsched.attempt'),"
        " current_setting('pgsched.scheduled_for')::timestamptz::text, current_setting('pgsched.client')] $$",
    )
    async with running(sql_login=LOGIN):
        id = await schedule(billing, "sql:billing.act")
        await until_history(billing, 1)
    told = await value(billing, "select result from pgsched.history")
    assert told == [id, "1", await value(billing, "select scheduled_for::text from pgsched.history"), "shop"]


async def test_a_function_that_raises_an_error_is_rolled_back_and_called_again(
    billing: Connection, running: Running
) -> None:
    await define(billing, "create sequence billing.calls")
    await acting(
        billing,
        "insert into billing.settled values ('x', nextval('billing.calls'));"
        " if lastval() < 3 then raise 'not yet' using errcode = 'U0001'; end if",
    )
    async with running(sql_login=LOGIN):
        await schedule(billing, "sql:billing.act", options='{"backoff": ["1ms", "1ms"]}')
        await until_history(billing, 1)
    assert await value(billing, "select array_agg(n) from billing.settled") == [3]
    rows = await (await billing.execute("select attempt, error from pgsched.attempts order by 1")).fetchall()
    assert rows == [(1, "U0001: not yet"), (2, "U0001: not yet")]


@pytest.mark.parametrize(
    ("target", "body", "says"),
    [
        ("sql:billing.other", "null", "42883: function billing.other(jsonb) does not exist (write create function"),
        ("sql:nowhere.act", "null", "3F000: schema "),
        (
            "sql:secret.act",
            "null",
            "42501: permission denied for schema secret (grant the role",
        ),
        ("sql:billing.act", "commit", "2D000: invalid transaction termination"),
        (
            "sql:billing.act",
            "perform pgsched.schedule('gopher:x', client => current_setting('pgsched.client'))",
            "PS001: ",
        ),
        ("sql:billing.act", "perform pgsched.schedule('python:x', client => 'other')", "PS012: "),
    ],
)
async def test_a_call_that_can_never_succeed_fails_immediately_with_advice(
    billing: Connection, running: Running, target: str, body: str, says: str
) -> None:
    await billing.execute("create schema secret")
    await acting(billing, body)
    async with running(sql_login=LOGIN):
        await schedule(billing, target)
        assert says in await reason(billing)


async def test_a_function_that_returns_many_rows_fails_and_is_rolled_back(
    billing: Connection, running: Running
) -> None:
    await define(
        billing,
        "create function billing.act(payload jsonb) returns setof text language sql as"
        " $$ insert into billing.settled values ('a'), ('b') returning id $$",
    )
    async with running(sql_login=LOGIN):
        await schedule(billing, "sql:billing.act")
        assert "the function must return one row" in await reason(billing)
    assert await value(billing, "select count(*) from billing.settled") == 0


async def test_a_result_over_a_mebibyte_fails_and_undoes_the_call(billing: Connection, running: Running) -> None:
    await define(
        billing,
        "create function billing.act(payload jsonb) returns text language sql as"
        " $$ insert into billing.settled values ('a') returning repeat('x', 1048576) $$",
    )
    async with running(sql_login=LOGIN):
        await schedule(billing, "sql:billing.act")
        assert "over the limit of 1 MiB" in await reason(billing)
    assert await value(billing, "select count(*) from billing.settled") == 0


async def test_a_call_ends_at_its_timeout(billing: Connection, running: Running) -> None:
    await acting(billing, "perform pg_sleep(60)")
    async with running(sql_login=LOGIN):
        await schedule(billing, "sql:billing.act", options='{"timeout": "300ms", "max_attempts": 1}')
        assert await reason(billing) == "no answer within 0.3 s"
    assert (
        await value(billing, "select count(*) from pg_stat_activity where usename = 'billing' and state = 'active'")
        == 0
    )


async def test_a_function_that_ignores_cancellation_loses_its_session(billing: Connection, running: Running) -> None:
    await acting(
        billing,
        "loop begin perform pg_sleep(60); exception when query_canceled then null; end; end loop",
    )
    calls = "select count(*) = 0 from pg_stat_activity where usename = 'billing'"
    async with running(sql_login=LOGIN):
        await schedule(billing, "sql:billing.act", options='{"timeout": "200ms", "max_attempts": 1}')
        assert await reason(billing) == "no answer within 0.2 s"
        await until(lambda: value(billing, calls))
        await schedule(billing)
        await until_history(billing, 1)


async def test_the_lease_is_renewed_while_a_function_runs(billing: Connection, running: Running) -> None:
    await acting(billing, "perform pg_sleep(2.5); perform billing.settle(payload)")
    async with running(sql_login=LOGIN, lease=1.0):
        await schedule(billing, "sql:billing.act")
        await until_history(billing, 1)
    assert await value(billing, "select count(*) from billing.settled") == 1
    assert await value(billing, "select attempt from pgsched.history") == 1


async def test_a_call_with_a_stale_lease_is_rolled_back(billing: Connection, running: Running) -> None:
    await acting(billing, "perform billing.settle(payload); perform pg_advisory_xact_lock(7)")
    await billing.execute("select pg_advisory_lock(7)")
    async with running(sql_login=LOGIN) as worker:
        await schedule(billing, "sql:billing.act")
        waits = "select count(*) from pg_stat_activity where usename = 'billing' and wait_event_type = 'Lock'"
        await until(lambda: value(billing, waits))
        await billing.execute("update pgsched.executions set lease_token = lease_token + 1")
        await billing.execute("select pg_advisory_unlock(7)")
        await until(lambda: _async(not worker.parts.dispatcher.in_hand))
        assert await value(billing, "select count(*) from billing.settled") == 0
        assert await value(billing, "select count(*) from pgsched.executions") == 1
        await billing.execute("update pgsched.executions set lease_token = lease_token - 1")


async def _async(found: bool) -> bool:
    return found


async def test_calls_with_one_ordering_key_run_in_order(billing: Connection, running: Running) -> None:
    async with running(sql_login=LOGIN):
        await billing.execute(
            "select pgsched.schedule('sql:billing.settle', jsonb_build_object('n', n), client => 'shop',"
            " ordering_key => 'one', fire_at => now() - interval '1 minute' + n * interval '1 ms')"
            " from generate_series(1, 20) n"
        )
        await until_history(billing, 20)
    order = "select array_agg(n order by ctid) from billing.settled"
    assert await value(billing, order) == list(range(1, 21))


async def test_each_run_of_a_job_is_planned_and_recorded(billing: Connection, running: Running) -> None:
    rules = '{"max_runs": 2, "after_completion": true}'
    async with running(sql_login=LOGIN):
        await billing.execute(
            "select pgsched.schedule('sql:billing.settle', '1', client => 'shop', every => '1 s', rules => %s::jsonb)",
            [rules],
        )
        await until_history(billing, 2)
    assert await value(billing, "select count(distinct plan) from pgsched.history where plan is not null") == 1


async def test_a_success_is_not_recorded_for_a_client_that_keeps_only_failures(
    billing: Connection, running: Running
) -> None:
    await billing.execute("update pgsched.clients set keep = 'failures'")
    async with running(sql_login=LOGIN):
        await schedule(billing)
        await until(lambda: value(billing, "select count(*) = 1 from billing.settled"))
    assert await value(billing, "select count(*) from pgsched.history") == 0
    assert await value(billing, "select count(*) from pgsched.executions") == 0


async def test_the_on_success_target_gets_the_result(billing: Connection, running: Running) -> None:
    async with running(sql_login=LOGIN):
        await schedule(billing, options='{"on_success": "notify:told"}')
        await until_history(billing, 2)
    told = "select payload -> 'result' from pgsched.history where target = 'notify:told'"
    assert await value(billing, told) == {"settled": 1}


async def test_role_and_database_settings_do_not_affect_calls(
    billing: Connection, running: Running, database_url: str
) -> None:
    name = database_url.partition("?")[0].rsplit("/", 1)[1]
    for setting in ("datestyle = 'German'", "intervalstyle = 'iso_8601'", "timezone = 'Asia/Kolkata'"):
        await billing.execute(f"alter role billing in database {name} set {setting}".encode())
    await schedule(billing)
    async with running(sql_login=LOGIN):
        await until_history(billing, 1)
    assert await value(billing, "select result::text from pgsched.history") == '{"settled": 1}'
