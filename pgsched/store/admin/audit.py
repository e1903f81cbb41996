"""The audit log: who changed what, and the values before and after."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg import AsyncConnection

from pgsched.store.core.query import rows
from pgsched.store.lookup.row_types import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEntry:
    """A row of the audit log. ``before`` and ``after`` hold the values that changed; ``before`` is None for a new
    object, and ``after`` for a deleted one. ``client`` is the owner, or None if more than one client is affected.

    ``actor`` is the name that the caller gave, and ``authenticated`` is the subject that the API authenticated.
    ``login``, ``process`` and ``transaction`` identify the database session.
    """

    id: int
    at: datetime
    client: str | None
    actor: str
    authenticated: str | None
    action: str
    kind: str | None
    name: str | None
    subject: UUID | None
    before: Json
    after: Json
    detail: Json
    login: str
    process: int
    transaction: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditFilter:
    """Selects changes that match every given value. ``actor`` matches the given name or the authenticated subject."""

    client: str | None = None
    subject: UUID | None = None
    kind: str | None = None
    name: str | None = None
    action: str | None = None
    actor: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LastChange:
    """When something last changed, and who changed it."""

    name: str
    at: datetime
    actor: str
    authenticated: str | None


async def last_changes(connection: AsyncConnection[Any], kind: str, names: Sequence[str]) -> dict[str, LastChange]:
    """Returns the last change of each of these objects, by name. Objects that never changed are left out."""
    last = await rows(connection, LastChange, "admin/last_changes", kind=kind, names=list(names)) if names else []
    return {one.name: one for one in last}
