"""Arrange executions that depend on others."""

from typing import Any
from uuid import UUID

from tests.store.store_arrange import Connection, call, column, finish, value


def after(db: Connection, *before: UUID | str, **arguments: Any) -> UUID:
    """Schedule an execution that depends on others, and is due when they have ended."""
    return schedule_now(db, after=[str(name) for name in before], **arguments)


def schedule_now(db: Connection, **arguments: Any) -> UUID:
    id = call(db, "schedule", **{"target": "python:next", **arguments})
    assert isinstance(id, UUID)
    return id


def end(db: Connection, id: UUID, ended: str = "succeeded") -> None:
    """Settle an execution and release its dependents."""
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
