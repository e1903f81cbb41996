"""Measures how many executions a second one process inserts when it has many at once.

All of them are due in the far future, so that no worker or notification is involved. Each method commits once; its time
includes building the rows and the commit.
"""

import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, LiteralString

import click
import orjson
import psycopg
from psycopg import sql

from pgsched.bench.database import fresh_database
from pgsched.bench.medians import medians
from pgsched.bench.seed_rows import Progress
from pgsched.cli.bench import COUNT, ROUNDS, on_server, progress, tell
from pgsched.client.many import schedule_many

_TARGET = "https://shop.example/callback"
_SELECT: LiteralString = """
insert into pgsched.executions (target, payload, fire_at)
select 'https://shop.example/callback', jsonb_build_object('order', n, 'merchant', 'merchant-' || n %% 1000),
       now() + interval '1 day' + n * interval '1 millisecond'
  from generate_series(0, %s - 1) as n"""
# The same columns, the identity, and the index that claims need; in one table, without any checks.
_BARE: LiteralString = """
create table bare (like pgsched.executions including defaults, primary key (id, partition));
alter table bare alter fire_at type timestamptz, alter scheduled_for type timestamptz, alter client_id type text,
  alter target type text, alter payload type jsonb, alter options type jsonb, alter key type text,
  alter ordering_key type text;
create index on bare (partition, fire_at)"""
_EXECUTIONS, _BARE_TABLE = sql.Identifier("pgsched", "executions"), sql.Identifier("bare")
Way = Callable[[psycopg.Connection[Any], int], None]


def run_bulk(url: str | None, *, count: int, rounds: int = 1, progress: Progress = lambda _: None) -> dict[str, Any]:
    """Returns rows a second on one connection: ``insert … select``, COPY, the SDK's ``schedule_many`` and, as the upper
    bound, COPY into a bare table."""
    with fresh_database(url) as own, psycopg.connect(own, autocommit=True) as connection:
        connection.execute(_BARE)
        measured = [_round(connection, count, number, progress) for number in range(rounds)]
    return {"count": count} | medians(measured)


def _rows(count: int) -> Iterator[tuple[dict[str, Any], datetime]]:
    """Yields payload and instant of each row, as an application has them."""
    first = datetime.now(UTC) + timedelta(days=1)
    for n in range(count):
        yield {"order": n, "merchant": f"merchant-{n % 1000}"}, first + timedelta(milliseconds=n)


def _insert_select(connection: psycopg.Connection[Any], count: int) -> None:
    connection.execute(_SELECT, [count])


def _copy_into(table: sql.Identifier) -> Way:
    def copy_rows(connection: psycopg.Connection[Any], count: int) -> None:
        query = sql.SQL("copy {} (target, payload, fire_at) from stdin").format(table)
        with connection.cursor() as cursor, cursor.copy(query) as copy:
            for payload, instant in _rows(count):
                copy.write_row((_TARGET, orjson.dumps(payload).decode(), instant))

    return copy_rows


def _by_sdk(connection: psycopg.Connection[Any], count: int) -> None:
    schedule_many(connection, ({"target": _TARGET, "payload": payload, "fire_at": at} for payload, at in _rows(count)))


_WAYS: dict[str, tuple[sql.Identifier, Way]] = {
    "insert_select": (_EXECUTIONS, _insert_select),
    "copy": (_EXECUTIONS, _copy_into(_EXECUTIONS)),
    "sdk": (_EXECUTIONS, _by_sdk),
    "bare_copy": (_BARE_TABLE, _copy_into(_BARE_TABLE)),
}


def _round(connection: psycopg.Connection[Any], count: int, number: int, progress: Progress) -> dict[str, Any]:
    """Runs each method once; each round starts with a different one."""
    first = number % len(_WAYS)
    found: dict[str, Any] = {}
    for name in [*_WAYS][first:] + [*_WAYS][:first]:
        found[f"{name}_rate"] = _measure(connection, name, count)
        progress(f"{name.replace('_', ' ')}: {found[f'{name}_rate']}/s")
    return found | {"ratio": round(found["copy_rate"] / found["bare_copy_rate"], 2)}


def _measure(connection: psycopg.Connection[Any], name: str, count: int) -> int:
    table, way = _WAYS[name]
    started = time.monotonic()
    way(connection, count)
    seconds = time.monotonic() - started
    _assert_all(connection, table, count)
    connection.execute(sql.SQL("truncate {}").format(table))
    return round(count / seconds)


def _assert_all(connection: psycopg.Connection[Any], table: sql.Identifier, count: int) -> None:
    """Checks by identity: each row has its own id, and every order is present."""
    query = sql.SQL("select count(*), count(distinct id), count(distinct payload ->> 'order') from {}").format(table)
    row = connection.execute(query).fetchone()
    if row != (count, count, count):
        raise AssertionError(f"rows, distinct ids, distinct orders = {row}; {count} were inserted")


@click.command()
@click.option("--count", default=200_000, show_default=True, type=COUNT, help="Executions inserted with each method.")
@ROUNDS
@on_server
def bulk(database_url: str | None, as_json: bool, **asked: Any) -> None:
    """Schedule many executions from one process with each method, and report rows a second."""
    tell(run_bulk(database_url, progress=progress, **asked), as_json)


if __name__ == "__main__":
    bulk()
