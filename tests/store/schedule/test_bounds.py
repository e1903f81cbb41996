"""Input is bounded by its size as text: a few bytes of jsonb can be a hundred kilobytes of digits."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest

from tests.store.store_arrange import Connection, counts, refused

pytestmark = pytest.mark.oldest_postgresql

TOO_MANY = ("1e131000", '{"a": [1, {"b": -2E+50000}]}', "1e-16000", "0." + "1" * 10_000, "1" * 300 + "." + "0" * 9701)
TOO_LARGE = (
    "1e309",
    "1e400",
    "-1e400",
    "9" * 309,
    "1.7976931348623158e308",
    "0.1e310",
    "12e308",
    "1" + "0" * 400 + ".5",
)
NUMBERS_TAKEN = (
    "1e308",
    "5e-324",
    "-1.7976931348623157e308",
    "9" * 308,
    "0." + "1" * 9_999,
    "0e400",
    "0.001e310",
    '"1e131000"',
)
BOMB = "[1e131000" + ",1e131000" * 300 + "]"
FAULTS = [
    (BOMB, "1 MiB"),
    ("[1e131000" + ",1e131000" * 9000 + "]", "1 MiB"),
    *((text, "digits") for text in (*TOO_LARGE, *TOO_MANY)),
    ("[1e131000]", "digits"),
    ("-1e20000", "digits"),
    ('["' + "\\u0001" * 400_000 + '"]', "1 MiB"),
    ("[" * 101 + "]" * 101, "100 levels deep"),
    ('{"a":' * 101 + "1" + "}" * 101, "100 levels deep"),
    ('"' + "x" * 1_048_576 + '"', "1 MiB"),
]
TAKEN = [
    "[" * 100 + "]" * 100,
    *NUMBERS_TAKEN,
    '{"a":' * 100 + "1" + "}" * 100,
    '["' + "0" * 20_000 + '"]',
    '"' + "x" * 1_048_574 + '"',
    "[1e308, 5e-324]",
    "[" + "1," * 50_000 + "1]",
]


@contextmanager
def refused_as(sqlstate: str, says: str) -> Iterator[None]:
    """The block is refused under this SQLSTATE, with these words."""
    with refused(sqlstate):
        try:
            yield
        except psycopg.Error as error:
            assert says in str(error), error  # noqa: PT017  the error is raised again
            raise


def shortened(text: str) -> str:
    return text[:24]


@pytest.mark.parametrize(("payload", "says"), FAULTS, ids=shortened)
def test_a_payload_over_the_size_digit_or_depth_limit_is_refused(db: Connection, payload: str, says: str) -> None:
    with refused_as("PS003", says):
        db.execute("select pgsched.schedule('python:a', %s::jsonb)", [payload])
    with refused_as("PS003", says):
        db.execute(
            "insert into pgsched.executions (target, payload, fire_at) values ('python:a', %s, now())", [payload]
        )
    with refused_as("PS003", says):
        db.execute("select pgsched.schedule('python:a', %s::jsonb, every => '1 hour')", [payload])
    assert counts(db) == (0, 0, 0)


@pytest.mark.parametrize("payload", TAKEN, ids=shortened)
def test_a_payload_within_the_bounds_is_accepted(db: Connection, payload: str) -> None:
    db.execute("select pgsched.schedule('python:a', %s::jsonb)", [payload])


def test_a_compressed_payload_is_measured_as_text(db: Connection) -> None:
    db.execute("create temp table kept as select to_jsonb(repeat('x', 3000000)) as payload")
    with refused_as("PS003", "1 MiB"):
        db.execute("select pgsched.schedule('python:a', payload) from kept")


def test_payload_checks_ignore_a_clients_functions_in_the_search_path(db: Connection) -> None:
    db.execute("create schema mine; create function mine.octet_length(text) returns int language sql as 'select 0'")
    try:
        db.execute("set search_path = mine, pg_catalog")
        with refused("PS003"):
            db.execute(
                "insert into pgsched.executions (target, payload, fire_at) values ('python:a', %s, now())", [BOMB]
            )
    finally:
        db.execute("reset search_path; drop schema mine cascade")


@pytest.mark.parametrize(
    "options",
    ['{"retry_on": [' + ",".join(["300." + "0" * 16000] * 5) + "]}", '{"headers": {"X": "' + "x" * 20_000_000 + '"}}'],
    ids=["zeros", "20 MB"],
)
def test_options_that_are_too_large_as_text_are_refused(db: Connection, options: str) -> None:
    with refused_as("PS004", "64 KiB"):
        db.execute("select pgsched.schedule('python:a', options => %s::jsonb)", [options])


def test_rules_that_are_too_large_as_text_are_refused(db: Connection) -> None:
    rules = '{"also": [{"cron": "* * * * *", "timezone": "' + "x" * 200_000 + '"}]}'
    with refused_as("PS002", "128 KiB"):
        db.execute("select pgsched.schedule('python:a', every => '1 hour', rules => %s::jsonb)", [rules])


def test_a_one_megabyte_time_zone_is_refused(db: Connection) -> None:
    with pytest.raises(psycopg.errors.CheckViolation, match="timezone_is_at_most_100_characters"):
        db.execute(
            "insert into pgsched.jobs (target, cron, timezone) values ('python:a', '@daily', repeat('x', 1000000))"
        )


@pytest.mark.parametrize("number", ["1e131000", "-1e131000", "0e-16000", "1e-16000"])
def test_refusing_a_number_bomb_is_faster_than_serializing_it(db: Connection, number: str) -> None:
    written = _milliseconds(db, "select octet_length(%s::jsonb::text)", "[" + ",".join([number] * 900) + "]")
    refused = _milliseconds(db, "select pgsched_internal.fault_of_json(%s)", "[" + ",".join([number] * 9000) + "]")
    assert refused < 5 * written, (refused, written)  # written out, it would take ten times as long


def _milliseconds(db: Connection, query: str, value: str) -> float:
    row: Any = db.execute(f"explain (analyze, timing off, format json) {query}".encode(), [value]).fetchone()
    found: float = row[0][0]["Planning Time"] + row[0][0]["Execution Time"]
    return found


@pytest.mark.parametrize("number", ["1", "1e308"])
def test_checking_many_numbers_takes_linear_time(db: Connection, number: str) -> None:
    value = f"[{number}" + ",1" * 160_000 + "]"
    read = _milliseconds(db, "select sum(length(n::text)) from jsonb_array_elements(%s) n", value)
    checked = _milliseconds(db, "select pgsched_internal.fault_of_json(%s)", value)
    assert checked < 10 * read, (checked, read)  # work for each pair of numbers would take twenty times as long


@pytest.mark.parametrize("number", ["1e131000", "0e-16000"])
def test_a_compressed_number_bomb_is_refused(db: Connection, number: str) -> None:
    bomb = "[" + ",".join([number] * 9000) + "]"
    db.execute("create temp table kept as select %s::jsonb as payload", [bomb])
    row: Any = db.execute("select pg_column_compression(payload), pg_column_size(payload) from kept").fetchone()
    assert row[0] == "pglz"
    with refused_as("PS003", "1 MiB"):
        db.execute("select pgsched.schedule('python:a', payload) from kept")
    with refused_as("PS004", "64 KiB"):
        db.execute("select pgsched.schedule('python:a', options => jsonb_build_object('retry_on', payload)) from kept")


BOMBS = {
    "rules": ("select pgsched.schedule('python:a', every => '1 hour', rules => %s::jsonb)", "PS002"),
    "labels": ("select pgsched.schedule('python:a', every => '1 hour', labels => %s::jsonb)", "PS000"),
    "a filter": ("select pgsched.bulk('replay', %s::jsonb)", "PS000"),
    "settings": ("select pgsched.set_client('shop', %s::jsonb)", "PS000"),
    "settings of a queue": ("select pgsched.create_queue('shop', %s::jsonb)", "PS000"),
    "a result": ("select pgsched.complete(pgsched_internal.new_id(), 1, %s::jsonb)", "PS003"),
}


@pytest.mark.parametrize("kind", BOMBS)
def test_every_json_argument_is_measured_before_it_is_serialized(db: Connection, kind: str) -> None:
    query, sqlstate = BOMBS[kind]
    with refused_as(sqlstate, "over the limit"):
        db.execute(query.encode(), ['{"also": ' + "[1e131000" + ",1e131000" * 9000 + "]}"])


def test_an_edit_is_measured_before_it_is_parsed(db: Connection) -> None:
    row: Any = db.execute("select pgsched.schedule('python:a', every => '1 hour')").fetchone()
    with refused_as("PS000", "2048 KiB"):
        db.execute("select pgsched.edit(%s, %s)", [row[0], '{"payload": [1e131000' + ",1e131000" * 9000 + "]}"])


def test_the_length_of_a_number_as_text_is_estimated(db: Connection) -> None:
    for number in ("0", "12345678901", "1e20", "-1e400", "0.00001", "1.50", "0e-700", "123456.789e-300"):
        row: Any = db.execute(
            "select pgsched_internal.digits_in(%(n)s), length(%(n)s::jsonb::text)", {"n": number}
        ).fetchone()
        assert row[1] - 7 <= row[0] <= row[1], (number, row)
