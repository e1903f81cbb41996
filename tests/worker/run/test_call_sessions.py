"""The rights of a called function, what it can leave behind, and how workers log in to call it."""

import re

import pytest
from psycopg.conninfo import conninfo_to_dict

from pgsched.errors import InvalidSettings
from pgsched.store.core.client_role_sessions import Sessions
from tests.worker.call_arrange import LOGIN, acting, define, reason, schedule
from tests.worker.conftest import Connection, Running, until, until_history, value

LEFTOVERS = {
    "a setting": ("set search_path = pg_temp", "current_setting('search_path') like '%pg_temp%'"),
    "a role": ("set role billing", "current_setting('role') <> 'none'"),
    "a temporary table": ("create temp table kept (n int)", "to_regclass('pg_temp.kept') is not null"),
    "a lock": (
        "perform pg_advisory_lock(77)",
        "exists (select from pg_locks where objid = 77)",
    ),
    "a prepared statement": ("execute 'prepare kept as select 1'", "exists (select from pg_prepared_statements)"),
    "a cursor": (
        "execute 'declare kept cursor with hold for select 1'",
        "exists (select from pg_cursors where is_holdable)",
    ),
    "a channel": ("listen kept", "exists (select from pg_listening_channels())"),
    "a sequence": ("create sequence billing.kept; perform nextval('billing.kept')", "billing.has_last_value()"),
}


GIVEN_BACK = """
select bool_and(state = 'idle' and query like '%%discard temp%%') from pg_stat_activity
 where datname = current_database() and application_name = 'pgsched call'"""


@pytest.mark.parametrize(
    "escape", ["reset role", "set role none", "reset session authorization", "set session authorization default"]
)
async def test_a_function_that_resets_its_role_gains_no_rights(
    billing: Connection, running: Running, escape: str
) -> None:
    await acting(
        billing,
        f"{escape}; begin delete from pgsched.executions; exception when insufficient_privilege"
        " then perform billing.settle(payload); end",
    )
    kept = await value(
        billing, "select pgsched.schedule('notify:kept', client => 'other', fire_at => now() + '1 h')::text"
    )
    async with running(sql_login=LOGIN):
        await schedule(billing, "sql:billing.act")
        await until_history(billing, 1)
    assert await value(billing, "select who || '|' || login from billing.settled") == "billing|billing"
    assert await value(billing, "select array_agg(id::text) from pgsched.executions") == [kept]


@pytest.mark.parametrize("escape", ["set role postgres", "set session authorization postgres"])
async def test_a_function_cannot_become_a_superuser(billing: Connection, running: Running, escape: str) -> None:
    await acting(billing, escape)
    async with running(sql_login=LOGIN):
        await schedule(billing, "sql:billing.act")
        assert "42501: permission denied" in await reason(billing)


async def test_a_deferred_trigger_that_resets_its_role_gains_no_rights(billing: Connection, running: Running) -> None:
    await define(
        billing,
        "create function billing.later() returns trigger language plpgsql as $$ begin reset role;"
        " insert into billing.settled values ('later'); return null; end $$;"
        "create table billing.queue (n int);"
        "create constraint trigger later after insert on billing.queue deferrable initially deferred"
        " for each row execute function billing.later()",
    )
    await acting(billing, "insert into billing.queue values (1)")
    async with running(sql_login=LOGIN):
        await schedule(billing, "sql:billing.act")
        await until_history(billing, 1)
    assert await value(billing, "select who || '|' || login from billing.settled") == "billing|billing"


async def test_a_failure_at_the_commit_rolls_the_call_back(billing: Connection, running: Running) -> None:
    await define(billing, "alter table billing.settled add unique (n) deferrable initially deferred")
    async with running(sql_login=LOGIN):
        await schedule(billing)
        await until_history(billing, 1)
        await schedule(billing, options='{"max_attempts": 1}')
        await until_history(billing, 1, status="failed")
    reason = await value(billing, "select reason from pgsched.history where status = 'failed'")
    assert reason.startswith("23505: duplicate key")
    assert await value(billing, "select count(*) from billing.settled") == 1


async def test_a_function_cannot_settle_another_clients_execution(billing: Connection, running: Running) -> None:
    other = (
        "insert into pgsched.executions (target, client_id, fire_at) values ('notify:kept', 'other', 'infinity')"
        " returning id"
    )
    id = await value(billing, other)
    await billing.execute("insert into pgsched.clients (client_id, database_role) values ('other', 'postgres')")
    await billing.execute("update pgsched.executions set lease_token = 9, lease_expires_at = 'infinity'")
    partition = await value(billing, "select partition from pgsched.executions")
    await acting(billing, f"perform pgsched_internal.settle_called({partition}::smallint, '{id}', 9, null)")
    async with running(sql_login=LOGIN):
        await schedule(billing, "sql:billing.act", options='{"max_attempts": 1}')
        await until_history(billing, 1, status="failed")
    assert "billing is not allowed to settle for client other" in await value(
        billing, "select reason from pgsched.history"
    )


@pytest.mark.parametrize("name", LEFTOVERS)
async def test_session_state_left_by_a_function_does_not_reach_the_next_function(
    billing: Connection, running: Running, name: str
) -> None:
    leave, left = LEFTOVERS[name]
    if name == "a sequence":
        await define(
            billing,
            "create function billing.has_last_value() returns boolean language plpgsql as $$ begin perform lastval();"
            " return true; exception when object_not_in_prerequisite_state then return false; end $$",
        )
    await acting(billing, leave)
    await define(
        billing,
        f"create function billing.look(payload jsonb) returns jsonb language sql as $$ select jsonb_build_array({left},"
        " pg_backend_pid()) $$",
    )
    await define(
        billing, "create function billing.pid(payload jsonb) returns int language sql as 'select pg_backend_pid()'"
    )
    async with running(sql_login=LOGIN):
        for number, function in enumerate(("pid", "act"), 1):
            await schedule(billing, f"sql:billing.{function}")
            await until_history(billing, number)
            await until(lambda: value(billing, GIVEN_BACK))
        await schedule(billing, "sql:billing.look")
        await until_history(billing, 3)
    pid = await value(billing, "select result from pgsched.history where target = 'sql:billing.pid'")
    assert await value(billing, "select result from pgsched.history where target = 'sql:billing.look'") == [False, pid]


async def test_a_client_without_a_role_cannot_call_functions(billing: Connection, running: Running) -> None:
    await billing.execute("update pgsched.clients set database_role = null")
    async with running(sql_login=LOGIN):
        await schedule(billing)
        assert "client shop has no role for calling functions; set its database_role, or sql_role" in await reason(
            billing
        )
    assert await value(billing, "select count(*) from billing.settled") == 0


async def test_the_sql_role_setting_applies_to_clients_without_a_role(billing: Connection, running: Running) -> None:
    await billing.execute("update pgsched.clients set database_role = null")
    async with running(sql_login=LOGIN, sql_role="billing"):
        await schedule(billing)
        await until_history(billing, 1)
    assert await value(billing, "select who from billing.settled") == "billing"


async def test_a_shared_login_takes_the_clients_role_for_each_call(billing: Connection, running: Running) -> None:
    await billing.execute("create role caller login password 'told' noinherit; grant billing to caller")
    try:
        async with running(sql_login="user=caller password=told"):
            for n in range(3):
                await schedule(billing, payload={"n": n})
                await until_history(billing, n + 1)
        assert await value(billing, "select array_agg(distinct who || '|' || login) from billing.settled") == [
            "billing|caller"
        ]
    finally:
        await billing.execute("drop role caller")


async def test_an_attempt_with_a_refused_login_fails_and_names_the_setting(
    billing: Connection, running: Running
) -> None:
    async with running(sql_login="user={role} password=wrong"):
        await schedule(billing, options='{"max_attempts": 1}')
        found = await reason(billing)
    assert found.startswith("cannot open a session as billing: ")
    assert found.endswith("(sql_login says how workers log in)")


async def test_the_workers_password_is_not_sent_for_other_logins(database_url: str) -> None:
    sessions = Sessions(database_url, "user={role}", most=1)
    assert "password" in conninfo_to_dict(database_url)
    assert not sessions._login_of("billing").get("password")


async def test_a_malformed_sql_login_is_refused_at_startup(database_url: str) -> None:
    with pytest.raises(InvalidSettings, match=re.escape("write, for example, user={role} password=")):
        Sessions(database_url, "billing", most=1)


async def test_an_idle_session_of_another_role_is_closed_to_make_room(billing: Connection, database_url: str) -> None:
    await billing.execute("create role second login password 'secret'")
    sessions = Sessions(database_url, LOGIN, most=1)
    seen = list[str]()

    async def note(connection: Connection) -> None:
        seen.append(connection.info.user)

    try:
        for role in ("billing", "second", "billing"):
            await sessions.work(role, note)
        assert seen == ["billing", "second", "billing"]
        count = "select count(*) from pg_stat_activity where application_name = 'pgsched call'"
        assert await value(billing, count) <= 1
    finally:
        await sessions.close()
        await billing.execute("drop role second")


async def test_a_session_that_broke_while_idle_costs_no_attempt(billing: Connection, running: Running) -> None:
    cut = "select count(pg_terminate_backend(pid)) from pg_stat_activity where application_name = 'pgsched call'"
    async with running(sql_login=LOGIN):
        await schedule(billing)
        await until_history(billing, 1)
        assert await value(billing, cut) == 1
        await schedule(billing)
        await until_history(billing, 2)
    assert await value(billing, "select count(*) from pgsched.attempts") == 0
