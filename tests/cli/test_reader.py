"""Logins with limited roles: pgsched_reader reads everything, pgsched_client reads its own rows."""

import json
from collections.abc import Iterator
from typing import Any

import click
import psycopg
import pytest

from pgsched.cli.main import cli
from tests.cli.conftest import Run
from tests.conftest import Connection, at
from tests.databases import login_as

_LETTER = "00000000-0000-7000-8000-00000000000a"
_LOOKS = {"list", "show", "blocked", "status", "events", "doctor", "top", "forecast"}
_ONE_OF_EACH = """
select pgsched.set_client('shop', '{"weight": 2}'), pgsched.pause('client', 'shop');
select pgsched.set_limit('host', 'shop.example', 10), pgsched.pause('target', 'other.example');
select pgsched.schedule('https://a', key => 'k', ordering_key => 'o', delay => '1 day');
select pgsched.schedule('https://a', key => 'job', cron => '@hourly', labels => '{"a": "b"}');
insert into pgsched.history (finished_at, fire_at, scheduled_for, created_at, id, status, partition, attempt, client_id, target)
select now(), now(), now(), now(), '00000000-0000-7000-8000-00000000000a', 'failed', 0, 1, 'default', 'https://a';
select pgsched.bulk('replay', '{"key": "nothing"}');
insert into pgsched.blocked_keys (client_id, ordering_key, partition, execution_id)
values ('default', 'o', 0, '00000000-0000-7000-8000-00000000000a');
insert into pgsched.workers (id, name, queues, release, lease, expires_at) overriding system value
values (7, 'w', '{default}', '0', '30 s', now() + interval '1 hour');
select setval('pgsched.workers_id_seq', 7);
"""  # noqa: E501
_IDS = """
select (select id::text from pgsched.jobs), (select id::text from pgsched.executions where key = 'k'),
       (select id::text from pgsched.bulk_operations)"""


@pytest.fixture
def reader_url(db: Connection, database_url: str) -> Iterator[str]:
    with login_as(db, database_url, "pgsched_reader") as url:
        db.execute(_ONE_OF_EACH)
        yield url


def _commands(command: click.Command, *path: str) -> Iterator[tuple[str, ...]]:
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):  # commands are imported only when requested
            yield from _commands(command.get_command(context, name) or command, *path, name)
    elif path[0] != "bench" and path[-1] in _LOOKS:
        yield path


def test_every_read_command_works_with_a_reader_login(db: Connection, reader_url: str, run: Run) -> None:
    job, execution, operation = _ids(db)
    shown = {"jobs": job, "executions": execution, "dead-letters": _LETTER, "bulk": operation}
    shown |= {"clients": "shop", "queues": "default", "secrets": "shop", "workers": "7"}
    refused = {}
    commands = list(_commands(cli))
    assert len(commands) > 12
    for words in commands:
        one = words[-1] == "show" and words != ("admin", "installation", "show")
        subject = [shown[words[-2]]] if one or words == ("admin", "secrets", "list") else []
        result = run(*words, *subject, "--json", env=at(reader_url))
        if result.exit_code != (1 if words == ("doctor",) else 0):  # doctor reports that there is no worker
            refused[words] = result.output[-300:]
        else:
            json.loads(result.stdout)
    assert refused == {}


def _ids(db: Connection) -> tuple[Any, ...]:
    row = db.execute(_IDS).fetchone()
    assert row is not None
    return row


def test_a_reader_login_cannot_cancel_an_execution(reader_url: str) -> None:
    with psycopg.connect(reader_url, autocommit=True) as looks, pytest.raises(psycopg.errors.InsufficientPrivilege):
        looks.execute("select pgsched.cancel(client => 'default', key => 'k')")


@pytest.fixture
def client_url(db: Connection, database_url: str) -> Iterator[str]:
    """The URL of a login that is the database role of client default, which has one row of each kind."""
    with login_as(db, database_url, "pgsched_client", name="shops") as url:
        db.execute(_ONE_OF_EACH)
        db.execute("""select pgsched.set_client('default', '{"database_role": "shops"}')""")
        db.execute("update pgsched.bulk_operations set clients = '{default}'")
        try:
            yield url
        finally:
            db.execute("""select pgsched.set_client('default', '{"database_role": null}')""")


_OF_CLIENTS = {
    *(("executions", "list"), ("executions", "show"), ("executions", "why"), ("jobs", "list"), ("jobs", "show")),
    *(("dead-letters", "list"), ("dead-letters", "show")),
    *(("bulk", "list"), ("bulk", "show"), ("executions", "blocked"), ("admin", "audit")),
}


def test_read_commands_answer_a_client_login_or_refuse_it_clearly(db: Connection, client_url: str, run: Run) -> None:
    job, execution, operation = _ids(db)
    shown = {"jobs": job, "executions": execution, "dead-letters": _LETTER, "bulk": operation}
    shown |= {"clients": "default", "queues": "default", "secrets": "default", "workers": "7"}
    answered, unclear = set(), {}
    for words in {*_commands(cli), ("executions", "why"), ("admin", "audit")} - {("doctor",), ("top",), ("events",)}:
        one = words[-1] in {"show", "why"} and words != ("admin", "installation", "show")
        subject = [shown[words[-2]]] if one or words == ("admin", "secrets", "list") else []
        result = run(*words, *subject, "--json", env=at(client_url))
        if result.exit_code == 0:
            answered.add(words)
        elif "log in with a role that has the privilege" not in result.output:
            unclear[words] = result.output[-300:]
    assert unclear == {}
    assert answered >= _OF_CLIENTS, run("executions", "list", env=at(client_url)).output


def test_a_client_login_can_count_and_start_a_backfill(db: Connection, client_url: str, run: Run) -> None:
    job, *_ = _ids(db)
    span = ("--from", "2026-01-01T00:00:00Z", "--to", "2026-01-02T00:00:00Z")
    counted = run("bulk", "backfill", "--job", job, *span, "--dry-run", "--json", env=at(client_url))
    assert (counted.exit_code, json.loads(counted.stdout)["matched"]) == (0, 24)
    started = run("bulk", "backfill", "--job", job, *span, "--json", env=at(client_url))
    assert (started.exit_code, json.loads(started.stdout)["matched"]) == (0, 24)


def test_a_client_login_can_read_only_its_own_audit_entries(db: Connection, client_url: str, run: Run) -> None:
    items = json.loads(run("admin", "audit", "--json", env=at(client_url)).stdout)["items"]
    assert {item["name"] for item in items if item["kind"] == "client"} == {"default"}
    assert {item["kind"] for item in items} <= {"client", "job", "bulk operation", None}
