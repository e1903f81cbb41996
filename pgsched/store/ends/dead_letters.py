"""Replays dead letters."""

from dataclasses import asdict, dataclass
from typing import Any
from uuid import UUID

from psycopg import AsyncConnection

from pgsched.store import verbs


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """With what a dead letter is replayed; what is None stays as it was. ``payload`` and ``options`` are JSON text."""

    target: str | None = None
    payload: str | None = None
    options: str | None = None


async def replay(
    connection: AsyncConnection[Any], id: UUID, changes: Changes, *, note: str | None, actor: str | None
) -> UUID:
    """Runs a dead letter again; the id of the new execution. Raises the driver's error where it is refused."""
    return await verbs.replay(connection, id, **asdict(changes), note=note, actor=actor)
