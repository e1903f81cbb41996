"""The settings of the installation as a whole, and whether it is held for recovery."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from psycopg import AsyncConnection

from pgsched.store import verbs
from pgsched.store.admin.settings_json import changes_of
from pgsched.store.core.query import one


@dataclass(frozen=True, slots=True, kw_only=True)
class Installation:
    """What is set. ``held_since``: when it was held, and nothing has begun since; ``reason`` says why."""

    history_days: int
    audit_days: int
    archive_history: bool
    hold_after_restart: timedelta | None
    hold_after_promotion: timedelta | None
    hold_after_absence: timedelta | None
    held_since: datetime | None
    reason: str | None


async def get_installation(connection: AsyncConnection[Any]) -> Installation:
    return await one(connection, Installation, "admin/installation", "the row of pgsched.installation was deleted")


async def set_installation(connection: AsyncConnection[Any], changes: Mapping[str, Any], *, actor: str | None) -> bool:
    """Sets what is named; whether anything is different now."""
    return await verbs.set_installation(connection, changes_of(changes), actor=actor)
