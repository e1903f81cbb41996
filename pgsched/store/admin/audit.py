"""The audit log: who changed what, and what was so before and after."""

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
    """A row of the audit log. ``before`` and ``after`` have what differs: None where there was, or is, no such thing.
    ``client`` is whose it was, None where it concerns more than one.

    ``actor`` is who it was said to be, ``authenticated`` who the API knows it was; ``login``, ``process`` and
    ``transaction`` tell the database session.
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
    """Only changes of which all that is given is so; ``actor`` is the one that was named, or whom the API has
    authenticated."""

    client: str | None = None
    subject: UUID | None = None
    kind: str | None = None
    name: str | None = None
    action: str | None = None
    actor: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LastChange:
    """When something was changed last, and by whom."""

    name: str
    at: datetime
    actor: str
    authenticated: str | None


async def last_changes(connection: AsyncConnection[Any], kind: str, names: Sequence[str]) -> dict[str, LastChange]:
    """The last change of each of these things, by name; those that were never changed are left out."""
    last = await rows(connection, LastChange, "admin/last_changes", kind=kind, names=list(names)) if names else []
    return {one.name: one for one in last}
