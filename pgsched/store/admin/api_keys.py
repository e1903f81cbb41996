"""API keys: created, listed, rotated and revoked; and looked up to check a token."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from psycopg import AsyncConnection

from pgsched.domain.api_key import Token
from pgsched.store.core.query import one, rows, value


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyRow:
    """A key, without its secret. ``clients`` is None for all; until ``former_until`` a former secret is taken too."""

    id: str
    subject: str
    clients: list[str] | None
    scopes: list[str]
    created_at: datetime
    expires_at: datetime | None
    last_used_at: datetime | None
    revoked_at: datetime | None
    former_until: datetime | None
    rate: int | None
    burst: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownKey:
    """What a token is checked against; seconds are counted from the moment of the look-up."""

    id: str
    hash: bytes
    former_hash: bytes | None
    former_left: float | None
    subject: str
    clients: list[str] | None
    scopes: list[str]
    expires_in: float | None
    revoked: bool
    rate: int | None
    burst: int | None


async def create(
    connection: AsyncConnection[Any],
    *,
    subject: str,
    clients: Sequence[str] | None,
    scopes: Sequence[str],
    expires_at: datetime | None = None,
    rate: int | None = None,
    burst: int | None = None,
    actor: str | None = None,
) -> Token:
    """Makes a key; its token cannot be had again. Raises InvalidInput and Refused."""
    token = Token.new()
    given = {"clients": None if clients is None else list(clients), "scopes": list(scopes), "expires_at": expires_at}
    limit = {"rate": rate, "burst": burst}
    await value(
        connection, "admin/create_key", id=token.id, hash=token.hash, subject=subject, actor=actor, **given, **limit
    )
    return token


async def rotate(
    connection: AsyncConnection[Any], id: str, *, keep_for: timedelta = timedelta(0), actor: str | None = None
) -> Token:
    """Another secret for a key; the former one is taken for so long. Raises NotFound, Conflict and Refused."""
    token = Token.new(id)
    await value(connection, "admin/rotate_key", id=id, hash=token.hash, keep_for=keep_for, actor=actor)
    return token


async def set_rate(
    connection: AsyncConnection[Any], id: str, *, rate: int | None, burst: int | None = None, actor: str | None = None
) -> bool:
    """Holds a key to so many requests a second, ``burst`` of them at once after a lull; None ends that. False if so it
    was. Raises InvalidInput, NotFound and Refused."""
    return bool(await value(connection, "admin/set_key_rate", id=id, rate=rate, burst=burst, actor=actor))


async def revoke(connection: AsyncConnection[Any], id: str, *, actor: str | None = None) -> bool:
    """False if it was revoked before. Raises NotFound and Refused."""
    return bool(await value(connection, "admin/revoke_key", id=id, actor=actor))


async def all_keys(connection: AsyncConnection[Any], *, limit: int, after: str | None = None) -> list[KeyRow]:
    """At most ``limit`` keys in the order of their ids, those behind ``after``."""
    return await rows(connection, KeyRow, "admin/api_keys", id=None, after=after, limit=limit)


async def get(connection: AsyncConnection[Any], id: str) -> KeyRow:
    """Raises NotFound."""
    missing = f"there is no key {id[:100]!r}: look it up in the list of keys"
    return await one(connection, KeyRow, "admin/api_keys", missing, id=id, after=None, limit=1)


async def look_up(connection: AsyncConnection[Any], ids: Sequence[str]) -> list[KnownKey]:
    """Those that there are, revoked and expired ones too."""
    return await rows(connection, KnownKey, "admin/look_up_keys", ids=list(ids))


async def note_use(connection: AsyncConnection[Any], id: str) -> None:
    await value(connection, "admin/note_key_use", id=id)


async def any_was_made(connection: AsyncConnection[Any]) -> bool:
    """Whether there is a key, also a revoked one."""
    return bool(await value(connection, "admin/has_keys"))
