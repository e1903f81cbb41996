"""Changes of executions that wait: the parameters of ``pgsched.edit_execution``, and what was read of one before."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec
from psycopg import AsyncConnection

from pgsched.domain.json_numbers import check_payload
from pgsched.domain.schedule import instant_of
from pgsched.errors import NotFound
from pgsched.store import verbs
from pgsched.store.core.query import value
from pgsched.store.core.text import check_text
from pgsched.store.lookup.listings import get_execution
from pgsched.store.lookup.rows import Execution

CHANGEABLE = ("target", "payload", "options", "labels", "fire_at")


def changes_of(given: Mapping[str, Any]) -> str:
    """The JSON text that ``pgsched.edit_execution`` reads; ``fire_at`` may be a datetime, ``msgspec.Raw`` is taken as
    it is. Raises InvalidInput and InvalidPayload for what PostgreSQL cannot store, InvalidSchedule for no instant."""
    found = dict(given)
    if isinstance(found.get("target"), str):
        check_text("target", found["target"])
    if isinstance(payload := found.get("payload"), msgspec.Raw):
        check_payload(bytes(payload).decode())
    if isinstance(found.get("fire_at"), str | datetime):
        found["fire_at"] = instant_of(found["fire_at"], "fire_at").isoformat()
    return msgspec.json.encode(found).decode()


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """An execution by its ``id``, or as what a ``client`` has under a ``key``."""

    id: UUID | None = None
    client: str = "default"
    key: str | None = None

    async def edit(
        self, connection: AsyncConnection[Any], changes: str, *, note: str | None = None, actor: str | None = None
    ) -> bool:
        """False if nothing is different. Its row stays locked until the transaction ends, whatever there is to change.
        Raises NotFound, and Conflict where it has begun or ended, or is a job's."""
        named: dict[str, Any] = {"client": self.client, "key": self.key} if self.id is None else {"id": self.id}
        return await verbs.edit_execution(connection, **named, changes=changes, note=note, actor=actor)

    async def read(self, connection: AsyncConnection[Any]) -> Execution:
        """Raises NotFound."""
        id = self.id
        if id is None:
            id = await value(connection, "lookup/id_under", client=self.client, key=self.key)
        found = None if id is None else await get_execution(connection, id)
        if found is None:
            raise NotFound(f"there is no execution {id or self.key}: look it up among the executions")
        return found
