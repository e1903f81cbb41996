"""Creates, lists and rotates API keys."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from psycopg import AsyncConnection

from pgsched.domain.api_key import Token
from pgsched.store import internal_verbs
from pgsched.store.core.query import one, rows


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyRow:
    """An API key without its secret. ``clients`` is None if the key is for all clients. The former secret is accepted
    until ``former_until``.
    """

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
    """Creates a key and returns its token, which cannot be retrieved again. Raises InvalidInput for invalid properties,
    and Refused if the session may not create keys."""
    token = Token.new()
    await internal_verbs.create_key(
        connection,
        token.id,
        token.hash,
        subject=subject,
        clients=None if clients is None else list(clients),
        scopes=list(scopes),
        expires_at=expires_at,
        rate=rate,
        burst=burst,
        actor=actor,
    )
    return token


async def rotate(
    connection: AsyncConnection[Any], id: str, *, keep_for: timedelta = timedelta(0), actor: str | None = None
) -> Token:
    """Replaces a key's secret; the former one stays valid for ``keep_for``. Raises NotFound, Conflict and Refused."""
    token = Token.new(id)
    await internal_verbs.rotate_key(connection, id, token.hash, keep_for=keep_for, actor=actor)
    return token


async def all_keys(connection: AsyncConnection[Any], *, limit: int, after: str | None = None) -> list[KeyRow]:
    """Returns up to ``limit`` keys in order of id, starting after the id ``after``."""
    return await rows(connection, KeyRow, "admin/api_keys", id=None, after=after, limit=limit)


async def get(connection: AsyncConnection[Any], id: str) -> KeyRow:
    """Returns a key. Raises NotFound if there is none with this id."""
    missing = f"there is no key {id[:100]!r}: the ids are in the list of keys"
    return await one(connection, KeyRow, "admin/api_keys", missing, id=id, after=None, limit=1)
