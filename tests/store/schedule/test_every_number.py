"""Every number, duration and instant that SQL can pass to pgsched is bounded: each argument of each verb, and each
column of the settings.

Arguments and columns are read from the catalog, so that a new one fails here until it has a bound, or the extreme
values that it accepts are listed here with their meaning.
"""

from collections.abc import Mapping
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
   and format_type(a.type, null) = any (%s)
 order by 1, 2, 3"""
_COLUMNS = """
select c.table_schema, c.table_name, c.column_name, c.data_type
  from information_schema.columns c
 where c.table_schema = 'pgsched' and c.table_name in ('clients', 'queues', 'installation', 'jobs')
   and c.data_type = any (%s)
 order by 1, 2, 3"""
_LENGTHS = [
    "-1 day",
    "0",
    "178000000 years",
    "-178000000 years",
    "1 month -29 days",
    "-1 month 31 days",
    "infinity",
    "-infinity",
]
_NUMBERS = ["NaN", "Infinity", "-Infinity", "-1", "0", "-1e-300", "1e300"]
_INSTANTS = ["infinity", "-infinity", "4713-01-01 BC", "294276-12-31"]
_ABSURD: dict[str, list[str]] = {
    "interval": _LENGTHS,
    "double precision": _NUMBERS,
    "numeric": _NUMBERS,
    "smallint": ["-1", "0", "32767"],
    "integer": ["-1", "0", "2147483647"],
    "bigint": ["-1", "0", "9223372036854775807"],
    "timestamp with time zone": _INSTANTS,
    "date": ["infinity", "-infinity", "4713-01-01 BC", "5874897-12-31"],
}
_BESIDE: dict[str, dict[str, Any]] = {
    "per": {"rate": 1},
    "burst": {"rate": 1},
    "shift": {"fire_at": None},
    "concurrency": {"rate": None},
}
_AHEAD_OR_BACK = {"0", "1 month -29 days", "-1 month 31 days"}
# Values that are accepted, and what they mean; None stands for all values.
_MEANT: dict[tuple[str, str], set[str] | None] = {
    ("bulk", "within"): {"0"},  # counts as far as it gets at once
    ("fail", "retry_after"): {
        "0",
        "178000000 years",
        "1 month -29 days",
        "-1 month 31 days",
        "infinity",
    },  # 24 h at most
    ("bulk", "shift"): {"-1 day", *_AHEAD_OR_BACK},
    ("schedule", "delay"): _AHEAD_OR_BACK,
    ("schedule", "fire_at"): {"-infinity"},  # the default: at once
    ("schedule_outcome", "delay"): _AHEAD_OR_BACK,
    ("schedule_outcome", "fire_at"): {"-infinity"},
    ("pause", "until"): {"infinity"},  # until it is restored
    ("installation", "audit_days"): {"0"},  # forever
}
_OURS = {
    "created_at",
    "failures",
    "first_partition",
    "full_since",
    "held_since",
    "paused_at",
    "planned_revision",
    "revision",
    "runs",
}
"""Columns that verbs and workers maintain and nobody sets."""


def _refusal(db: Connection, query: sql.Composed, given: Mapping[str, Any]) -> str | None:
    """The SQLSTATE of a refusal, or None if it was accepted."""
    with db.transaction(force_rollback=True):
        try:
            db.execute(query, given)
        except psycopg.Error as error:
            return error.sqlstate
    return None


@pytest.fixture(scope="module")
def queues(module_url: str) -> None:
    with psycopg.connect(module_url, autocommit=True) as db:
        db.execute("select pgsched.create_queue('empty'), pgsched.create_queue('pulled', '{\"pulled\": true}')")


def test_every_verb_refuses_absurd_numbers(db: Connection, queues: None) -> None:
    house, wrong = House(db), []
    for verb, oid, argument, kind in db.execute(_VERBS, [[*_ABSURD]]).fetchall():
        named: Any = db.execute("select proargnames from pg_proc where oid = %s", [oid]).fetchone()
        given = house.sane(verb, named[0]) | _BESIDE.get(argument, {})
        for absurd in _ABSURD[kind]:
            parts = [
                sql.SQL("{} => {}").format(sql.Identifier(name), sql.Placeholder(name))
                for name in given
                if name != argument
            ]
            parts.append(sql.SQL("{} => {}::{}").format(sql.Identifier(argument), sql.Literal(absurd), sql.SQL(kind)))
            query = sql.SQL("select pgsched.{}({})").format(sql.Identifier(verb), sql.SQL(", ").join(parts))
            wrong += _of(_refusal(db, query, given), (verb, argument), absurd)
    assert not wrong, "\n".join(map(str, wrong))


def test_every_settings_column_refuses_absurd_numbers(db: Connection, queues: None) -> None:
    House(db)
    db.execute("insert into pgsched.clients (client_id) values ('shop') on conflict do nothing")
    wrong = []
    for schema, table, column, kind in db.execute(_COLUMNS, [[*_ABSURD]]).fetchall():
        for absurd in _ABSURD[kind] if column not in _OURS else ():
            query = sql.SQL("update {} set {} = {}::{}").format(
                sql.Identifier(schema, table), sql.Identifier(column), sql.Literal(absurd), sql.SQL(kind)
            )
            wrong += _of(_refusal(db, query, {}), (table, column), absurd)
    assert not wrong, "\n".join(map(str, wrong))


def _of(refused: str | None, place: tuple[str, str], absurd: str) -> list[tuple[str, ...]]:
    """What is wrong: a value is accepted, or only PostgreSQL refuses it. A text that the type cannot read is fine."""
    meant = _MEANT.get(place, set())
    if refused is None:
        return [] if meant is None or absurd in meant else [(*place, absurd, "taken")]
    return [] if refused[:2] == "PS" or refused in ("22007", "23514") else [(*place, absurd, refused)]
