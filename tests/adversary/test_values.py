"""One client writes unusual values to every column and option that its role may write, while another client works.

The columns come from the catalog and the options from the documentation, so new names are covered automatically.
More examples: PGSCHED_TEST_EXAMPLES=2000 pytest tests/adversary/test_values.py
"""

import json
import os
import re
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.adversary.conftest import Scene
from tests.adversary.house import Connection
from tests.adversary.verdict import steady

pytestmark = pytest.mark.attack

_EXAMPLES = int(os.environ.get("PGSCHED_TEST_EXAMPLES", "25"))
_DOCS = Path(__file__).parents[2] / "docs" / "reference"
_ROWS = 12
"""Rows per example."""

_INSTANTS = ["-infinity", "infinity", "epoch", "now", "0001-01-01", "0001-01-01 00:00:00+14", "0001-01-02",
    "9999-12-31", "9999-12-31 23:59:59.999999-14",
             "10000-01-01", "294276-12-31 23:59:59.999999", "4713-01-01 BC", "1969-12-31 23:59:59.999999",
             "2000-01-01", "1900-02-28"]  # fmt: skip
_INTERVALS = ["0", "1 microsecond", "-1 microsecond", "1 second", "-1 day", "178000000 years", "-178000000 years",
    "2147483647 days",
              "1 month", "-1 month 31 days", "3653 days", "9999999 hours", "infinity", "-infinity", "24:00:01",
              "1 day -24 hours"]  # fmt: skip
_NUMBERS = ["0", "-0", "1", "-1", "0.1", "1e-300", "1e300", "1e308", "1e400", "9007199254740993", "2147483647",
    "2147483648", "-2147483649",
            "9223372036854775807", "9223372036854775808", "32767", "32768", "NaN", "Infinity", "-Infinity",
            "1e131071", "1e-16383", "300.0000"]  # fmt: skip
_TEXTS = ["", " ", "\n", "\t\r\x0b", "\x01\x7f", "\u0085\u2028", "\u202e", "\ufeff", "\U0010ffff", "e\u0301" * 50,
    "'", '"', "\\", "%s", "{0}", "a/b", "a:b", "a,b@1",
          "null", "default", "order", "client:first", "x" * 200, "x" * 201, "\u00e9" * 200, "x" * 70_000,
          "python:mallory", "queue:", "notify:x",
          "http://127.0.0.1:9/", "https://[::1]:1/", "sql:a.b", "kafka:t", "* * * * * *", "0 0 30 2 *", "@daily",
          "H H * * *", "PT1S", "1h", "first",
          "shift", "both", "Europe/Berlin", "US/Pacific-New", "block", "continue", "POST", "PT9999999999H",
          "0001-01-01T00:00:00Z"]  # fmt: skip

_texts = st.sampled_from(_TEXTS) | st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=30
)
_numbers = st.sampled_from(_NUMBERS) | st.integers(-(2**70), 2**70).map(str)
_scalars = st.one_of(
    _texts.map(json.dumps),
    _numbers.filter(lambda n: n[-1].isdigit()),
    st.sampled_from(["null", "true", "false", "[]", "{}"]),
)


def _listed(children: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    lists = st.lists(children, max_size=4).map(lambda items: f"[{','.join(items)}]")
    members = st.lists(st.tuples(_texts, children), max_size=4)
    return lists | members.map(_object)


def _object(pairs: Iterable[tuple[str, str]]) -> str:
    return "{" + ",".join(f"{json.dumps(name)}:{value}" for name, value in pairs) + "}"


_deep = st.integers(1, 3_000).map(lambda depth: "[" * depth + "]" * depth)
_json = st.recursive(_scalars, _listed, max_leaves=12) | _deep


def _option_names() -> list[str]:
    """Returns the names in the documentation's tables of options and rules."""
    pages = [(_DOCS / name).read_text(encoding="utf-8") for name in ("http-callbacks.md", "schedules.md")]
    return sorted({name for page in pages for name in re.findall(r"^\| `([a-z_]+)`", page, re.MULTILINE)})


_NAMES = _option_names()
_PLAUSIBLE = ['"1s"', '"PT0.1S"', "1", "3", '["1s","2s"]', '{"initial":"1ms","factor":1,"maximum":"1ms"}',
    '"python:mallory"', "[500]", '"0001-01-02T00:00:00Z"',
              '{"x":"y"}', '"GET"', '"skip"', '"all"', '"block"', "true", '"latest"', '"queue_one"']  # fmt: skip
_options = st.dictionaries(st.sampled_from(_NAMES), st.sampled_from(_PLAUSIBLE) | _json, max_size=4).map(
    lambda given: _object(given.items())
)
_BY_TYPE: dict[str, st.SearchStrategy[Any]] = {
    "timestamp with time zone": st.sampled_from(_INSTANTS),
    "interval": st.sampled_from(_INTERVALS),
    "jsonb": st.one_of(_options, _json),
    "text": _texts,
    "name": _texts,
    "uuid": st.uuids().map(str),
    "boolean": st.sampled_from(["true", "false"]),
}


def _strategy(kind: str) -> st.SearchStrategy[Any]:
    return _BY_TYPE.get(kind, _numbers)


def _columns(connection: Connection, table: str) -> dict[str, str]:
    """Returns the columns of a table that a client's role may write, with their base types."""
    found = connection.execute(
        "select p.column_name::text, c.data_type::text from information_schema.column_privileges p"
        " join information_schema.columns c using (table_schema, table_name, column_name)"
        " where p.grantee = 'pgsched_client' and p.privilege_type in ('INSERT', 'UPDATE') and p.table_schema ="
        " 'pgsched'"
        " and p.table_name = %s and p.column_name <> 'client_id' order by 1",
        [table],
    ).fetchall()
    return {name: "text" if kind == "USER-DEFINED" else kind for name, kind in found}


_SENSIBLE = {
    "executions": {"target": "python:mallory", "fire_at": "now"},
    "jobs": {"target": "python:mallory", "every": "1 second"},
}


@settings(
    max_examples=_EXAMPLES,
    deadline=None,
    derandomize="PGSCHED_TEST_EXAMPLES" not in os.environ,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
    database=None,
)
@given(data=st.data())
def _draw_all(scene: Scene, columns: dict[str, dict[str, str]], data: st.DataObject) -> None:
    """Inserts and schedules rows, each in its own transaction, and checks the first client."""
    start = time.time()
    with (
        scene.house.turns.taken(alone=False),
        psycopg.connect(scene.house.mallory, autocommit=True, options="-c statement_timeout=4s") as session,
    ):
        for _ in range(_ROWS):
            table = data.draw(st.sampled_from(sorted(columns)))
            chosen = data.draw(st.lists(st.sampled_from(sorted(columns[table])), min_size=1, max_size=3, unique=True))
            row = _SENSIBLE[table] | {name: data.draw(_strategy(columns[table][name])) for name in chosen}
            _insert(session, table, row)
            _schedule(session, data)
    time.sleep(0.1)
    steady(scene.house, start, scene.usual)


def _insert(session: Connection, table: str, row: dict[str, Any]) -> None:
    marks = ", ".join(["%s"] * len(row))
    _try(
        session,
        f"insert into pgsched.{table} (client_id, {', '.join(row)}) values ('mallory', {marks})",
        list(row.values()),
    )
    if "fire_at" in row and ("key" in row or "ordering_key" in row):  # as a bulk insert does
        with_home = row | {"partition": None}
        marks = ", ".join(
            "pgsched.partition_for('default', 'mallory', %s, %s)" if name == "partition" else "%s" for name in with_home
        )
        given = [*row.values()]
        place = list(with_home).index("partition")
        given[place:] = [row.get("key"), row.get("ordering_key"), *given[place + ("partition" in row) :]]
        _try(
            session,
            f"insert into pgsched.{table} (client_id, {', '.join(with_home)}) values ('mallory', {marks})",
            given,
        )


_ARGUMENTS = {"payload": "jsonb", "fire_at": "timestamp with time zone", "delay": "interval", "every": "interval",
    "cron": "text",
              "timezone": "text", "key": "text", "ordering_key": "text", "options": "jsonb", "rules": "jsonb",
              "labels": "jsonb",
              "on_conflict": "text", "queue": "text", "target": "text"}  # fmt: skip


def _schedule(session: Connection, data: st.DataObject) -> None:
    chosen = data.draw(st.lists(st.sampled_from(sorted(_ARGUMENTS)), min_size=1, max_size=4, unique=True))
    row = {"target": "python:mallory", **{name: data.draw(_strategy(_ARGUMENTS[name])) for name in chosen}}
    named = ", ".join(f"{name} => %s::{_ARGUMENTS[name]}" for name in row)
    _try(session, f"select pgsched.schedule(client => 'mallory', {named})", list(row.values()))


def _try(session: Connection, statement: str, given: list[Any]) -> None:
    """Executes a statement. A refusal must have an SQLSTATE that is not an internal error."""
    try:
        session.execute(statement.encode(), given)
    except psycopg.Error as error:
        if error.sqlstate is None or error.sqlstate.startswith(("XX", "58")):
            raise


def test_one_clients_unusual_values_do_not_delay_another_client(scene: Scene) -> None:
    columns = {table: _columns(scene.house.owner, table) for table in ("executions", "jobs")}
    assert all(columns.values())
    try:
        _draw_all(scene, columns)
    finally:
        scene.house.clear()
