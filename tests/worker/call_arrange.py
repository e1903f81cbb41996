"""A client whose role owns a schema with functions, for the tests of sql: targets."""

import json
from typing import Any

import psycopg

from tests.worker.conftest import Connection, until_history, value

QUICK = '{"backoff": ["1ms"], "timeout": "20s"}'
LOGIN = "user={role} password=secret"
SETTLE = """
create table billing.settled (id text, n integer, who text default current_user, login text default session_user);
create function billing.settle(payload jsonb) returns jsonb language plpgsql as $$
begin
  insert into billing.settled values (current_setting('pgsched.execution_id'), (payload ->> 'n')::integer);
  return jsonb_build_object('settled', payload -> 'n');
end $$;
"""
MAKE = f"""
create role billing login password 'secret' in role pgsched_client;
create schema billing authorization billing;
insert into pgsched.clients (client_id, database_role) values ('shop', 'billing');
set role billing; {SETTLE} reset role
"""
DROP = "drop schema billing cascade; drop owned by billing; drop role billing"


async def define(db: Connection, sql: str) -> None:
    """Run SQL as the client's role."""
    await db.execute(f"set role billing; {sql}; reset role".encode())


async def acting(db: Connection, body: str) -> None:
    """Create the function ``billing.act`` with this body."""
    await define(
        db, f"create function billing.act(payload jsonb) returns void language plpgsql as $$ begin {body}; end $$"
    )


async def schedule(
    db: Connection, target: str = "sql:billing.settle", payload: Any = None, options: str = QUICK
) -> str:
    call = "select pgsched.schedule(%s, %s::jsonb, client => 'shop', options => %s::jsonb)::text"
    return str(await value(db, call, target, json.dumps(payload if payload is not None else {"n": 1}), options))


async def reason(db: Connection) -> str:
    """The reason why the only execution failed, in its only attempt."""
    await until_history(db, 1, status="failed")
    assert await value(db, "select attempt from pgsched.history") == 1
    return str(await value(db, "select reason from pgsched.history"))


def make_client(url: str) -> None:
    """Create the client ``shop`` on the test's own server."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(MAKE.encode())
