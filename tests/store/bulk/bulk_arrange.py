"""Start bulk operations, carry them out and look at their progress."""

from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg import sql
from psycopg.types.json import Jsonb

from tests.store.store_arrange import Connection, row, value


def bulk(db: Connection, action: str, filter: Any, **given: Any) -> UUID:
    """Call ``pgsched.bulk`` and return the id of the operation, which is None for a dry run."""
    arguments = {"action": action, "filter": Jsonb(filter), **given}
    named = sql.SQL(", ").join(
        sql.SQL("{} => {}").format(sql.Identifier(name), sql.Placeholder(name)) for name in arguments
    )
    id: UUID = value(db, sql.SQL("select id from pgsched.bulk({})").format(named), arguments)
    return id


def backfill(
    db: Connection, job: Any, start: Any = "2026-03-01T00:00Z", end: Any = "2026-03-02T00:00Z", **given: Any
) -> UUID:
    """Start a backfill of a job, by default of one day."""
    start, end = (at.isoformat() if isinstance(at, datetime) else at for at in (start, end))
    return bulk(db, "backfill", {"job": str(job), "from": start, "to": end}, **given)


def count(db: Connection, action: str, filter: Any, *, within: str = "5 s") -> tuple[int, bool]:
    query = "select matched, complete from pgsched.bulk(%s, %s, shift => %s, dry_run => true, within => %s)"
    shift = "1 hour" if action == "reschedule" else None
    found = row(db, query, [action, Jsonb(filter), shift, within])
    return found[0], found[1]


def progress(db: Connection, id: UUID) -> tuple[Any, ...]:
    """Return the state, and how many were done, skipped and failed."""
    return row(db, "select state, done, skipped, failed from pgsched.bulk_operations where id = %s", [id])


def advance(db: Connection, id: UUID, *, most: int = 50) -> tuple[int, bool, bool]:
    """Take a turn and return how many it did, whether more can follow at once, and whether it was the last."""
    found = row(db, "select * from pgsched_internal.advance_bulk(%s, %s)", [id, most])
    return found[0], found[1], found[2]


def an_hour_later(db: Connection, id: UUID) -> None:
    db.execute("update pgsched.bulk_operations set paced_until = paced_until - interval '1 hour' where id = %s", [id])


def carry_out(db: Connection, id: UUID, *, most: int = 50) -> tuple[int, int]:
    """Take turns until the operation ends, whatever its rate. Return how many were done, and the number of turns."""
    done, turns, finished = 0, 0, False
    while not finished:
        now, _, finished = advance(db, id, most=most)
        done, turns = done + now, turns + 1
        an_hour_later(db, id)
    return done, turns
