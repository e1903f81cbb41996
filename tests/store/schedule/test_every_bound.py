"""Every text, list and JSON that SQL can pass to pgsched is bounded: each argument of each verb, and each column.

Arguments and columns are read from the catalog, so that a new one fails here until it has a bound and this test knows
how to use it. Each is given a valid value, which must be accepted, and then absurd values, which must be refused at
once with a short message.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest
from psycopg import sql

from tests.store.schedule.bounds_arrange import House
from tests.store.store_arrange import Connection

_VERBS = """
select p.proname, p.oid, p.proargnames[a.place], format_type(a.type, null)
  from pg_proc p, unnest(p.proargtypes::oid[]) with ordinality as a(type, place)
 where p.pronamespace = 'pgsched'::regnamespace and p.prokind = 'f'
   and (format_type(a.type, null) in ('text', 'jsonb', 'json', 'name', 'bytea', 'character varying')
        or format_type(a.type, null) like '%[]')
 order by 1, 2, 3"""
_COLUMNS = """
select c.table_name, c.column_name, format_type(a.atttypid, null), coalesce(t.typbasetype::regtype::text, '')
  from information_schema.column_privileges c
  join pg_attribute a
    on a.attrelid = format('%I.%I', c.table_schema, c.table_name)::regclass and a.attname = c.column_name
  left join pg_type t on t.oid = a.atttypid and t.typtype = 'd'
 where c.grantee = 'pgsched_client' and c.privilege_type in ('INSERT', 'UPDATE') and c.table_schema = 'pgsched'
 order by 1, 2"""
_TEXTUAL = {"text", "jsonb", "text[]"}
_HUGE = 3_000_000
# Names that are only looked up have no bound: no row has such a name, and the name is not stored.
_ANSWERED = {
    ("signing_secrets", "client"): "a client of such a name has no secrets",
    ("secrets", "client"): "a client of such a name has no secrets",
    ("drop_secret", "name"): "a client has no secret of such a name",
    ("status_of", "client"): "looked up in an index, and neither kept nor quoted",
    ("status_of", "key"): "the same",
}


_BESIDE: dict[str, dict[str, Any]] = {  # arguments that schedule accepts only with certain other arguments
    "timezone": {"cron": "@daily"}, "rules": {"every": "1 hour"}, "labels": {"every": "1 hour"},
    "gap": {"cron": "@daily"}, "overlap": {"cron": "@daily"}, "after_outcome": {"after": ["k"]},
    "on_conflict": {"key": "new"},
}  # fmt: skip
_SANE: dict[str, Any] = {
    "note": "why", "actor": "ann", "payload": "{}", "options": "{}", "labels": '{"a": "b"}',
    "rules": '{"on_overlap": "skip"}',
    "cron": "@daily", "timezone": "UTC", "client": "default", "key": "k", "ordering_key": "o", "queue": "default",
    "on_conflict": "keep", "after": ["k"], "after_outcome": "any", "gap": "skip", "overlap": "both", "target": "https://b",
    "result": "{}", "error": "no", "outcome": "any", "secret": "whsec_" + "A" * 32, "changes": '{"weight": 3}',
}  # fmt: skip


def _absurd(name: str, kind: str) -> list[Any]:
    """Too much text or too many entries; as JSON, also values that are small when sent."""
    if kind == "text[]":
        return [["k"] * 100_000, ["x" * _HUGE]]
    if kind == "jsonb":
        return [
            json.dumps({name: "x" * _HUGE}),
            "[" + "1e131000," * 9000 + "1]",
            '{"a": [' + "0e-16000," * 30_000 + "1]}",
            '{"a": [' + "1," * 1_100_000 + "1]}",
        ]
    return ["x" * _HUGE]


@pytest.fixture(scope="module")
def queues(module_url: str) -> None:
    with psycopg.connect(module_url, autocommit=True) as db:
        db.execute("select pgsched.create_queue('empty'), pgsched.create_queue('pulled', '{\"pulled\": true}')")


@pytest.fixture
def house(db: Connection, queues: None) -> House:
    return House(db)


@contextmanager
def _undone(db: Connection) -> Iterator[None]:
    with db.transaction(force_rollback=True):
        yield


def _called(db: Connection, verb: str, given: Mapping[str, Any]) -> str | None:
    """The refusal of a call, or None if it was accepted."""
    arguments = sql.SQL(", ").join(sql.SQL("{} => {}").format(sql.Identifier(k), sql.Placeholder(k)) for k in given)
    query = sql.SQL("select pgsched.{}({})").format(sql.Identifier(verb), arguments)
    return _refusal(db, query, given)


def _refusal(db: Connection, query: sql.Composed, given: Mapping[str, Any]) -> str | None:
    with _undone(db):
        try:
            db.execute(query, given)
        except psycopg.Error as error:
            return f"{error.sqlstate} {error.diag.message_primary}"
    return None


def test_every_verb_refuses_absurd_values_of_each_argument(db: Connection, house: House) -> None:
    unbounded = []
    for verb, oid, argument, kind in db.execute(_VERBS).fetchall():
        named: Any = db.execute("select proargnames from pg_proc where oid = %s", [oid]).fetchone()
        given = house.sane(verb, named[0])
        if verb.startswith("schedule"):
            given = given | _BESIDE.get(argument, {})
        if (verb, argument) == ("bulk", "target"):  # only a replay has a target, and it has no instant
            given = {"action": "replay", "filter": given["filter"]}
        sane = given | {argument: given.get(argument, _SANE.get(argument, "x"))}
        taken = _called(db, verb, sane)
        assert taken is None or (verb, argument) in _ANSWERED, (verb, argument, taken)
        for absurd in _absurd(argument, kind):
            refused = _called(db, verb, given | {argument: absurd})
            if (verb, argument) not in _ANSWERED and (refused is None or len(refused) > 700):
                unbounded.append((verb, argument, str(absurd)[:20], (refused or "taken")[:80]))
    assert unbounded == []


def test_inserts_with_absurd_values_in_any_column_are_refused(db: Connection, house: House) -> None:
    unbounded = []
    for table, column, kind, base in db.execute(_COLUMNS.encode()).fetchall():
        if not {kind, base} & _TEXTUAL:
            continue
        given: dict[str, Any] = {"target": "python:a"} | (
            {"cron": "@daily"} if table == "jobs" else {"fire_at": "tomorrow"}
        )
        for absurd in _absurd(column, base or kind):
            row = given | {column: absurd}
            query = sql.SQL("insert into pgsched.{} ({}) values ({})").format(
                sql.Identifier(table),
                sql.SQL(", ").join(map(sql.Identifier, row)),
                sql.SQL(", ").join(map(sql.Placeholder, row)),
            )
            refused = _refusal(db, query, row)
            if refused is None or len(refused) > 700:
                unbounded.append((table, column, str(absurd)[:20], (refused or "taken")[:80]))
    assert unbounded == []
