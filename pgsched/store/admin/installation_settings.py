"""Reads the settings of the installation as a whole, and whether it is held for recovery."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from psycopg import AsyncConnection

from pgsched.store.core.query import one


@dataclass(frozen=True, slots=True, kw_only=True)
class Installation:
    """The installation's settings. No execution has begun since ``held_since``; ``reason`` says why it is held."""

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
