"""What the tests of the store share: valid rows by default, refusals, a session that waits, what was notified."""

import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg import sql
from psycopg.types.json import Jsonb

from pgsched.domain.secret import SIGNING, new_signing_secret
from pgsched.sealing import KeyRing, new_key
from pgsched.store import internal_verbs, verbs
from pgsched.store.core.connect import Connection as Session
from pgsched.store.core.verb import verb
from pgsched.store.core.wire import LONG_AGO
from pgsched.store.live import reaping

DECLARED = [found for module in (verbs, internal_verbs) for found in vars(module).values() if isinstance(found, verb)]
"""The functions of the database that Python calls."""
Connection = psycopg.Connection[tuple[Any, ...]]

TARGET = "https://shop.example/settle"
KEY = new_key()


def call(db: Connection, function: str, **arguments: Any) -> Any:
    """``select pgsched.function(name => value, …)``, and its value."""
    query = sql.SQL("select {}({})").format(
        sql.Identifier(*(function.split(".") if "." in function else ("pgsched", function))),
        sql.SQL(", ").join(
            sql.SQL("{} => {}").format(sql.Identifier(name), sql.Placeholder(name)) for name in arguments
        ),
    )
    given = {name: Jsonb(value) if isinstance(value, dict) else value for name, value in arguments.items()}
    return value(db, query, given)


def on_job(verb: str, id: object) -> dict[str, Any]:
    """The arguments by which a verb names a job."""
    match verb:
        case "pause" | "resume":
            return {"kind": "job", "name": str(id)}
        case "cancel" | "edit":
            return {"id": id}
    return {"job_id": id}


def rotate(db: Connection, secret: str | None = None, *, client: str = "shop", **more: Any) -> str:
    """Has a client's callbacks signed by a secret, a new one where none is given; it is sealed with ``KEY``."""
    made = secret or new_signing_secret()
    ring = KeyRing.parse(KEY)
    assert ring is not None
    there = {"client": client, "sealed": ring.seal(client, SIGNING, made), "hint": made[-4:]}
    call(db, "pgsched_internal.rotate_signing_secret", **there, **more)
    return made


def schedule(db: Connection, **arguments: Any) -> UUID:
    """pgsched.schedule, ten minutes ahead unless the arguments say when."""
    if not {"fire_at", "delay", "cron", "every"} & arguments.keys():
        arguments["delay"] = "10 minutes"
    id = call(db, "schedule", **{"target": TARGET, **arguments})
    assert isinstance(id, UUID)
    return id


def row(db: Connection, query: Any, parameters: Any = None) -> tuple[Any, ...]:
    """The one row of an answer."""
    rows = db.execute(query, parameters).fetchall()
    assert len(rows) == 1, rows
    return rows[0]


def value(db: Connection, query: Any, parameters: Any = None) -> Any:
    """The one value of an answer."""
    return row(db, query, parameters)[0]


def column(db: Connection, query: Any, parameters: Any = None) -> list[Any]:
    """The first value of each row."""
    return [found[0] for found in db.execute(query, parameters)]


def status(db: Connection, id: UUID) -> str:
    return str(value(db, "select status from pgsched.status where id = %s", [id]))


def lease(db: Connection, id: UUID, *, token: int = 1) -> None:
    """Puts an execution into a worker's hand."""
    db.execute(
        "update pgsched.executions set lease_owner = 1, lease_token = %s, attempt = attempt + 1,"
        " lease_expires_at = pgsched.now() + interval '1 minute' where id = %s",
        [token, id],
    )


def run_out(db: Connection, *, begun: bool = False) -> None:
    """Has the leases of all that is in hand run out, while whose they are lives; with ``begun``, of only attempts that
    have begun."""
    db.execute(
        "update pgsched.executions set lease_owner = 99, lease_expires_at = pgsched.now() - interval '1 minute',"
        " begun = case when %s then lease_token else begun end where lease_token is not null",
        [begun],
    )


def finish(db: Connection, id: UUID, *, ended: str = "succeeded", ago: str = "0 seconds") -> None:
    """Moves an execution into history, ended so long ago."""
    db.execute(
        "select pgsched_internal.end_execution(e, %s::pgsched.execution_status, null) from"
        " pgsched.executions e where id = %s",
        [ended, id],
    )
    db.execute("delete from pgsched.executions where id = %s", [id])
    db.execute("update pgsched.history set finished_at = finished_at - %s::interval where id = %s", [ago, id])


def counts(db: Connection) -> tuple[int, int, int]:
    """How many rows executions, jobs and history have."""
    found = row(
        db,
        "select (select count(*) from pgsched.executions), (select count(*) from pgsched.jobs),"
        " (select count(*) from pgsched.history)",
    )
    return found[0], found[1], found[2]


@contextmanager
def refused(sqlstate: str, *, hint: str = "", constraint: str | None = None) -> Iterator[None]:
    """The block is refused under this SQLSTATE, with a hint that has these words or by this constraint."""
    with pytest.raises(psycopg.Error) as caught:
        yield
    diagnosis = caught.value.diag
    assert diagnosis.sqlstate == sqlstate, caught.value
    assert hint in (diagnosis.message_hint or ""), diagnosis.message_hint
    if sqlstate.startswith("PS"):
        assert diagnosis.message_primary
        assert diagnosis.message_hint
    if constraint is not None:
        assert diagnosis.constraint_name == constraint


def planned(db: Connection, job: UUID, *, ahead: str = "1 hour") -> UUID:
    """The row a planner would have inserted for a job."""
    id = value(
        db,
        "insert into pgsched.executions (fire_at, scheduled_for, job_id, plan, partition, client_id, target)"
        " select pgsched.now() + %s::interval, pgsched.now() + %s::interval, j.id, j.revision,"
        " pgsched_internal.partition_of(j),"
        " j.client_id, j.target from pgsched.jobs j where j.id = %s returning id",
        [ahead, ahead, job],
    )
    db.execute("update pgsched.jobs set planned_revision = revision where id = %s", [job])
    assert isinstance(id, UUID)
    return id


def wait_until_blocked(watcher: Connection, waiting: Connection | psycopg.AsyncConnection[Any]) -> None:
    """Returns once the session of ``waiting`` stands before a lock."""
    pid, deadline = waiting.info.backend_pid, time.monotonic() + 20
    while not value(watcher, "select cardinality(pg_blocking_pids(%s))", [pid]):
        assert time.monotonic() < deadline, "the session was never blocked"


@contextmanager
def listening(url: str) -> Iterator[Connection]:
    """A session that hears what workers are told."""
    with psycopg.connect(url, autocommit=True) as listener:
        listener.execute("listen pgsched_wake")
        yield listener


def heard(listener: Connection, speaker: Connection) -> list[str]:
    """What was notified up to now: everything that comes before a last word of the speaker's."""
    speaker.execute("select pg_notify('pgsched_wake', 'that was all')")
    payloads: list[str] = []
    for notification in listener.notifies(timeout=20):
        if notification.payload == "that was all":
            return payloads
        payloads.append(notification.payload)
    raise AssertionError("the last word was never heard")


async def reap(worker: Session, partition: int, owners: list[int]) -> tuple[int, int]:
    """Takes back all there is in a partition of these owners, and what has run out by now: how many rows wait again,
    and how many failed."""
    cursor = await worker.execute("select extract(epoch from clock_timestamp())::float8")
    [now] = await cursor.fetchone() or (0.0,)
    part = reaping.ReapRange(partition, LONG_AGO, 1_000_000)
    return (await reaping.reap(worker, part, owners, ended_by=now))[:2]


def acting(url: str, role: str) -> Connection:
    """A session of this role."""
    connection = psycopg.connect(url, autocommit=True)
    connection.execute(sql.SQL("set session authorization {}").format(sql.Identifier(role)))
    return connection


def login_role(db: Connection, member_of: str | None) -> str:
    name = f"pgsched_test_{secrets.token_hex(6)}"
    db.execute(sql.SQL("create role {} login").format(sql.Identifier(name)))
    if member_of is not None:
        db.execute(sql.SQL("grant {} to {}").format(sql.Identifier(member_of), sql.Identifier(name)))
    return name
