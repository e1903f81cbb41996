"""Arranging executions that wait for others, for the tests of the store."""

from typing import Any
from uuid import UUID

from tests.store.store_arrange import Connection, call, column, finish, value


def after(db: Connection, *before: UUID | str, **arguments: Any) -> UUID:
    """An execution that waits for others; due at once then."""
    return schedule_now(db, after=[str(name) for name in before], **arguments)


def schedule_now(db: Connection, **arguments: Any) -> UUID:
    id = call(db, "schedule", **{"target": "python:next", **arguments})
    assert isinstance(id, UUID)
    return id


def end(db: Connection, id: UUID, ended: str = "succeeded") -> None:
    """A worker settles it, and the releaser has its turn."""
    finish(db, id, ended=ended)
    release(db)


def release(db: Connection) -> int:
    return int(value(db, "select decided from pgsched_internal.release_dependents(100, null)"))


def waits_for(db: Connection, id: UUID) -> list[UUID]:
    return column(db, "select after_id from pgsched.dependencies where execution_id = %s and status is null", [id])


def is_due(db: Connection, id: UUID) -> bool:
    return bool(value(db, "select fire_at <= now() from pgsched.executions where id = %s", [id]))


def held(db: Connection) -> UUID:
    id = value(db, "insert into pgsched.executions (target, fire_at) values ('python:next', 'infinity') returning id")
    assert isinstance(id, UUID)
    return id
