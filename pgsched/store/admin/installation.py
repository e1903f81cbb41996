"""The settings of the installation as a whole, and whether it is held for recovery."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from psycopg import AsyncConnection

from pgsched.store.admin.setting import changes_of
from pgsched.store.core.query import one, value


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
    return bool(await value(connection, "admin/set_installation", changes=changes_of(changes), actor=actor))


@dataclass(frozen=True, slots=True)
class Visit:
    """``why`` the installation is held; None where workers may claim. ``renewals``: how often workers have said so."""

    why: str | None
    renewals: int | None


async def check_in(connection: AsyncConnection[Any], known: int | None = None) -> Visit:
    """Notes that workers are on this server. One that was there says what it knows: ``renewals``."""
    return await one(connection, Visit, "admin/check_in", "nobody may check in", known=known)


async def hold(connection: AsyncConnection[Any], *, note: str | None, actor: str | None) -> bool:
    """False if it was held before."""
    return bool(await value(connection, "admin/hold_installation", note=note, actor=actor))


async def release(connection: AsyncConnection[Any], *, note: str | None, actor: str | None) -> bool:
    """False if it was not held."""
    return bool(await value(connection, "admin/release_installation", note=note, actor=actor))
