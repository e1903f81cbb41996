"""Another client's ids: knowing an id gives no access, because every lookup includes the client.

Every receiver gets the ids, so they are not secret. The tests call every function that a client's role may execute,
and pass it another client's ids, keys, tokens and whole rows.
"""

import re
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, LiteralString

import psycopg
import pytest
from psycopg import sql

from tests.databases import Databases, Janitor, lending_with

Connection = psycopg.Connection[tuple[Any, ...]]
SECRET = "nobody-else-is-to-read-this"
_SCHEMAS = "n.nspname like 'pgsched%'"

_QUEUE = """
select pgsched.create_queue('orders', '{"pulled": true, "options": {"headers": {"authorization": "SECRET"}}}')"""
_ARRANGE: LiteralString = """
insert into pgsched.clients (client_id, options) values ('victim', '{"headers": {"authorization": "SECRET"}}');
insert into pgsched_internal.signing_secrets (client_id, sealed, hint)
  values ('victim', decode(rpad('', 150, encode('SECRET', 'hex')), 'hex'), 'cret');
select pgsched.schedule('python:x', '"SECRET"', delay => '1 hour', client => 'victim', key => 'k', ordering_key => 'o');
select pgsched.schedule('python:x', '"SECRET"', client => 'victim', key => 'running');
select pgsched.schedule('python:x', '"SECRET"', client => 'victim', after => array['k'], key => 'after');
select pgsched.schedule('queue:', '"SECRET"', client => 'victim', queue => 'orders', key => 'handed');
select pgsched.schedule('queue:', '"SECRET"', client => 'victim', queue => 'orders', key => 'waiting for a consumer');
select pgsched.schedule('python:x', '"SECRET"', client => 'victim', every => '1 hour', key => 'job',
  labels => '{"team": "SECRET"}');
select pgsched.cancel(pgsched.schedule('python:x', '"SECRET"', client => 'victim', key => 'ended', delay => '1 hour'));
select count(*) from pgsched.claim('orders', 'svc', 1);
update pgsched.executions set lease_owner = 1, lease_token = 4711, attempt = 1,
  lease_expires_at = now() + interval '1 hour' where key = 'running';
select pgsched.schedule('python:x', '"SECRET"', client => 'victim', key => 'at a gate', delay => '1 hour');
update pgsched.executions set scheduled_for = fire_at, fire_at = 'infinity', gate = 'client:victim'
 where key = 'at a gate';
insert into pgsched.history (finished_at, fire_at, scheduled_for, created_at, id, status, partition, attempt,
    client_id, target, payload, reason)
  values (now(), now(), now(), now(), gen_random_uuid(), 'failed', 0, 1, 'victim', 'python:x', '"SECRET"', 'SECRET');
insert into pgsched.attempts (finished_at, execution_id, attempt, client_id, error)
  select finished_at, id, 1, client_id, 'SECRET' from pgsched.history;
select pgsched.bulk('backfill', jsonb_build_object('job', id, 'from', now() - interval '3 hours', 'to', now()))
  from pgsched.jobs;
select pgsched.bulk('replay', '{"client": "victim", "reason": "nothing"}');
"""


@dataclass(frozen=True, slots=True)
class Victim:
    """Another client's ids, tokens and rows that an attacker may know."""

    ids: list[Any]
    homes: dict[Any, int]
    tokens: list[int]
    rows: dict[str, list[str]]


@pytest.fixture(scope="module")
def databases(janitor: Janitor, template: str) -> Iterator[Databases]:
    """Lends databases that already have a queue, because creating a queue is slow."""
    statement = _QUEUE.replace("SECRET", SECRET)
    with lending_with(statement, "pgsched_orders", janitor=janitor, template=template) as found:
        yield found


@pytest.fixture
def mallory(db: Connection, database_url: str) -> Iterator[Connection]:
    """An autocommit session of a client's role."""
    name = f"adversary_{secrets.token_hex(6)}"
    role = sql.Identifier(name)
    db.execute(_ARRANGE.replace("SECRET", SECRET).encode())
    db.execute(sql.SQL("create role {} login in role pgsched_client").format(role))
    db.execute("update pgsched.clients set database_role = 'pgsched_reader' where client_id = 'victim'")
    db.execute("insert into pgsched.clients (client_id, database_role) values ('mallory', %s)", [name])
    with psycopg.connect(database_url, autocommit=True) as session:
        session.execute(sql.SQL("set session authorization {}").format(role))
        session.execute("set statement_timeout = '5s'")
        yield session
    db.execute(sql.SQL("drop role {}").format(role))


@pytest.fixture
def victim(db: Connection, mallory: Connection) -> Victim:
    tables = ("executions", "jobs", "history", "bulk_operations")
    found = {name: db.execute(f"select id, t::text from pgsched.{name} t".encode()).fetchall() for name in tables}
    tokens = db.execute("select lease_token from pgsched.executions where lease_token is not null").fetchall()
    ids = [id for rows in found.values() for id, _ in rows]
    homes: dict[Any, int] = dict(
        db.execute("select id, partition from pgsched.executions union all select id, partition from pgsched.history")
    )
    return Victim(
        ids, homes, [token for (token,) in tokens], {name: [text for _, text in rows] for name, rows in found.items()}
    )


def everything(db: Connection) -> dict[str, list[str]]:
    """Returns all rows except mallory's rows and the audit log."""
    tables = db.execute(
        "select c.oid::regclass::text from pg_class c join pg_namespace n on n.oid = c.relnamespace"
        f" where {_SCHEMAS} and c.relkind in ('r', 'p') and not c.relispartition and c.relname <> 'audit_log'".encode()
    ).fetchall()
    return {
        table: sorted(
            text for (text,) in db.execute(f"select t::text from {table} t".encode()) if "mallory" not in text
        )
        for (table,) in tables
    }


def _functions(db: Connection) -> list[tuple[str, list[str], list[str], int]]:
    """Returns the functions that a client's role may call: name, argument names and types, and required arguments."""
    return db.execute(
        "select p.oid::regproc::text, coalesce(p.proargnames, '{}')::text[],"
        " array(select format_type(t, null) from unnest(p.proargtypes) with ordinality a(t, n) order by n)::text[],"
        " p.pronargs - p.pronargdefaults"
        " from pg_proc p join pg_namespace n on n.oid = p.pronamespace"
        f" where {_SCHEMAS} and has_function_privilege('pgsched_client', p.oid, 'execute') and p.pronargs > 0"
        " and p.prorettype <> 'trigger'::regtype order by 1".encode()
    ).fetchall()


def _value(name: str, kind: str, id: Any, victim: Victim, turn: int) -> Any:
    """Returns an argument that refers to the victim's rows."""
    by_name = {
        "client": "victim", "client_id": "victim", "key": "k", "ordering_key": "o", "target": "python:x",
        "queue": "default",
        "clients": ["victim"], "filter": '{"client": "victim"}', "labels": f'{{"team": "{SECRET}"}}', "worker": "w",
        "on_conflict": "replace", "cron": None, "every": None, "after": None, "after_outcome": "success",
        "timezone": None, "changes": '{"target": "python:x"}',
    }  # fmt: skip
    base = kind.rpartition(".")[2]
    if kind.endswith("[]"):
        return [id] if kind == "uuid[]" else ["victim"]
    if base in victim.rows:
        rows = victim.rows[base]
        return rows[turn % len(rows)] if rows else None
    if name in by_name and base in ("text", "jsonb", "interval"):
        return by_name[name]
    if name in ("partition", "home"):
        return victim.homes.get(id, 0)
    if name == "token":
        return victim.tokens[turn % len(victim.tokens)]
    by_kind = {
        "uuid": id, "text": "k", "jsonb": "{}", "interval": "1 second", "timestamp with time zone": "2040-01-01Z",
        "boolean": True,
        "execution_status": "succeeded", "keep": "all", "double precision": 1.0, "numeric": 1,
    }  # fmt: skip
    return by_kind.get(base, 0 if "int" in base else None)


def test_no_function_reads_or_changes_another_clients_rows(db: Connection, mallory: Connection, victim: Victim) -> None:
    before, reached = everything(db), []
    for function, names, kinds, needed in _functions(db):
        for turn, id in enumerate(victim.ids):
            for count in {needed, len(kinds)} - {0}:
                given = [_value(names[n] if n < len(names) else "", kinds[n], id, victim, turn) for n in range(count)]
                marks = ", ".join(f"%s::{kind}" for kind in kinds[:count])
                answer = _answer(mallory, f"select t::text from {function}({marks}) as t", given)
                if SECRET in answer and SECRET not in str(given):
                    reached.append(f"{function}{tuple(given)} answers {answer[:200]}")
        if (after := everything(db)) != before:
            changed = {
                table: set(after[table]) ^ set(before[table]) for table in before if after[table] != before[table]
            }
            reached.append(f"{function} changes {changed}")
            before = after
    assert reached == []


def _answer(session: Connection, statement: str, given: list[Any]) -> str:
    """Returns the result of a statement, or the text of its error."""
    try:
        return str(session.execute(statement.encode(), given).fetchall())
    except psycopg.Error as error:
        return f"{error} {error.diag.message_detail}"


def test_no_table_or_view_shows_another_clients_rows(db: Connection, mallory: Connection, victim: Victim) -> None:
    relations = db.execute(
        "select c.oid::regclass::text from pg_class c join pg_namespace n on n.oid = c.relnamespace"
        f" where {_SCHEMAS} and c.relkind in ('r', 'p', 'v', 'm', 'S')".encode()
    ).fetchall()
    told = []
    for (relation,) in relations:
        columns = db.execute(
            "select attname from pg_attribute where attrelid = %s::regclass and attnum > 0", [relation]
        )
        for column in ("*", *(name for (name,) in columns)):
            text = _answer(
                mallory,
                f"select t::text from (select {column if column == '*' else f't.{column}'} from {relation} t) t",
                [],
            )
            if SECRET in text or re.search("victim", text):
                told.append(f"{relation}.{column}: {text[:100]}")
    db.execute("analyze")
    for view in ("pg_stats", "pg_stat_activity", "pg_prepared_statements", "pg_locks", "pg_stats_ext"):
        if SECRET in _answer(mallory, f"select t::text from pg_catalog.{view} t", []):
            told.append(view)
    assert told == []


@pytest.mark.parametrize(
    "table", ["executions", "jobs", "history", "attempts", "clients", "queues", "dependencies", "workers"]
)
def test_a_client_cannot_write_or_lock_tables_directly(
    db: Connection, mallory: Connection, victim: Victim, table: str
) -> None:
    before = everything(db)
    columns = [name for (name,) in db.execute("select attname from pg_attribute where attrelid = %s::regclass and"
                                              " attnum > 0",
                                              [f"pgsched.{table}"])]  # fmt: skip
    for statement in (
        f"delete from pgsched.{table}",
        f"truncate pgsched.{table}",
        *(f"update pgsched.{table} set {column} = {column}" for column in columns),
        *(
            f"select from pgsched.{table} for {strength}"
            for strength in ("update", "no key update", "share", "key share")
        ),
    ):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            mallory.execute(statement.encode())
    assert everything(db) == before


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("id", "'00000000-0000-0000-0000-000000000001'"),
        ("client_id", "'victim'"),
        ("lease_token", "1"),
        ("lease_owner", "1"),
        ("lease_expires_at", "now()"),
        ("attempt", "1000"),
        ("plan", "1"),
        ("awaited", "true"),
        ("at_head", "true"),
        ("gate", "'client:victim'"),
        ("consumer", "'x'"),
        ("created_at", "now()"),
        ("job_id", "'00000000-0000-0000-0000-000000000001'"),
    ],
)
def test_a_client_cannot_set_protected_columns_in_an_insert(mallory: Connection, column: str, value: str) -> None:
    mine = "" if column == "client_id" else ", 'mallory'"
    with pytest.raises(psycopg.Error) as caught:
        mallory.execute(
            f"insert into pgsched.executions (target, fire_at, {column}{', client_id' if mine else ''})"
            f" values ('python:x', now(), {value}{mine})".encode()
        )
    assert caught.value.sqlstate in {"42501", "PS012", "PS000"}
