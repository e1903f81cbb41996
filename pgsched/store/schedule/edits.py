"""Edits waiting executions, and builds the parameters of ``pgsched.edit``."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec
from psycopg import AsyncConnection

from pgsched.domain.schedule import instant_of
from pgsched.errors import NotFound
from pgsched.store import verbs
from pgsched.store.core.text import check_text
from pgsched.store.schedule import calls

CHANGEABLE = ("target", "payload", "options", "labels", "fire_at")


def changes_of(given: Mapping[str, Any]) -> str:
    """Returns the changes as JSON text for ``pgsched.edit``. ``fire_at`` may be a datetime; ``msgspec.Raw`` is passed
    unchanged.

    Raises InvalidInput for text that PostgreSQL cannot store, and InvalidSchedule for an invalid ``fire_at``.
    """
    found = dict(given)
    if isinstance(found.get("target"), str):
        check_text("target", found["target"])
    if isinstance(found.get("fire_at"), str | datetime):
        found["fire_at"] = instant_of(found["fire_at"], "fire_at").isoformat()
    return msgspec.json.encode(found).decode()


async def edit(
    connection: AsyncConnection[Any], id: UUID, changes: str, *, note: str | None = None, actor: str | None = None
) -> bool:
    """Edits a waiting execution. Returns False if nothing changed. In either case, the row stays locked until the
    transaction ends.

    Raises NotFound. Raises Conflict if the execution is running, has ended or belongs to a job, or if it has already
    been attempted and the edit does more than move it.
    """
    if await calls.is_job(connection, id):
        raise NotFound(
            f"there is no execution {id}: the ids are in the list of executions; if this is a job's id, list the jobs"
        )
    return await verbs.edit(connection, id, changes, note=note, actor=actor)
