"""Database errors are mapped to pgsched errors."""

from collections.abc import Iterator
from typing import Any, LiteralString

import psycopg
import pytest

from pgsched.errors import (
    Conflict,
    InvalidInput,
    InvalidPayload,
    InvalidSchedule,
    InvalidTarget,
    Refused,
    SchemaMismatch,
    Unavailable,
)
from pgsched.store.core.refusals import refusal

Connection = psycopg.Connection[tuple[Any, ...]]

_CASES: list[tuple[str, type[Exception], str, LiteralString]] = [
    ("raised by pgsched", InvalidTarget, "; write one of", "select pgsched.schedule('ftp://shop.example')"),
    ("check constraint", InvalidInput, "the rule: key is 1",
     "insert into pgsched.jobs (target, every, key) values ('notify:a', '1 h', '')"),
    ("invalid json", InvalidPayload, "RFC 8259", "select '{'::jsonb"),
    ("invalid instant", InvalidSchedule, "write an instant such as", "select 'tomorrowish'::timestamptz"),
    ("instant out of range", InvalidSchedule, "nearer to the present",
     "select '2026-01-01'::timestamptz + interval '400000 years'"),
    ("unique violation", Conflict, "try again", "insert into pgsched.queues values ('default', 160)"),
    ("missing right", Refused, "role", "set role pgsched_reader; delete from pgsched.executions"),
    ("missing table", SchemaMismatch, "run pgsched migrate", "select from pgsched.yet_to_come"),
    ("statement timeout", Unavailable, "try again", "set statement_timeout = 1; select pg_sleep(10)"),
    ("read-only transaction", Unavailable, "no writes", "begin read only; select pgsched.schedule('notify:a')"),
    ("out of memory", Unavailable, "try again", "do $$ begin raise exception sqlstate '53200'; end $$"),
    ("io error", Unavailable, "try again", "do $$ begin raise exception sqlstate '58030'; end $$"),
    ("serialization failure", Unavailable, "try again", "do $$ begin raise exception sqlstate '40001'; end $$"),
    ("full notification queue", Unavailable, "try again",
     "do $$ begin raise exception 'too many notifications in the NOTIFY queue' using errcode = '54000'; end $$"),
    ("program limit", InvalidInput, "shorten or",
     "do $$ begin raise exception 'too long' using errcode = '54000'; end $$"),
    ("terminated session", Unavailable, "try again", "select pg_terminate_backend(pg_backend_pid())"),
]  # fmt: skip


@pytest.fixture
def db(module_url: str) -> Iterator[Connection]:
    """A separate session: refused statements change settings of the session, but no rows."""
    with psycopg.connect(module_url, autocommit=True) as connection:
        yield connection


@pytest.mark.parametrize(("kind", "says", "statement"), [case[1:] for case in _CASES], ids=[case[0] for case in _CASES])
def test_a_database_refusal_becomes_an_error_that_says_what_to_do(
    db: Connection, kind: type[Exception], says: str, statement: LiteralString
) -> None:
    with pytest.raises(psycopg.Error) as raised:
        db.execute(statement)
    found = refusal(raised.value)
    assert type(found) is kind
    assert says in str(found)


def test_a_lock_timeout_maps_to_unavailable(db: Connection, module_url: str) -> None:
    with psycopg.connect(module_url) as holder:
        holder.execute("lock table pgsched.jobs")
        db.execute("set lock_timeout = 1")
        with pytest.raises(psycopg.Error) as raised:
            db.execute("select from pgsched.jobs")
    assert isinstance(refusal(raised.value), Unavailable)


def test_a_syntax_error_maps_to_no_error_class(db: Connection) -> None:
    with pytest.raises(psycopg.Error) as raised:
        db.execute("selct 1")
    assert refusal(raised.value) is None
