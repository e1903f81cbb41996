"""Reads and writes the settings of clients."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

import msgspec
from psycopg import AsyncConnection

from pgsched.domain.secret import SIGNING, new_signing_secret, parse_signing_secret
from pgsched.errors import NotFound
from pgsched.sealing import KeyRing
from pgsched.store import internal_verbs
from pgsched.store.admin.secrets import sealing
from pgsched.store.core.query import rows
from pgsched.store.lookup.row_types import Json

KEPT_FOR = timedelta(hours=24)
"""Default time for which a former signing secret stays valid."""
_HINT = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretHint:
    """A signing secret, represented by its last characters. ``valid_until`` is None for the current secret."""

    hint: str
    valid_until: datetime | None

    def __str__(self) -> str:
        return self.hint if self.valid_until is None else f"{self.hint} until {self.valid_until:%Y-%m-%d %H:%M %Z}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientRow:
    """A client's settings."""

    client: str
    keep: str
    options: Json
    weight: int
    state: str
    reason: str | None
    signing_secrets: list[SecretHint]
    database_role: str | None
    channels: list[str] | None
    dead_letter_target: str | None
    dead_letters_for: timedelta
    late_after: timedelta | None
    on_time_share: float
    created_at: datetime


async def all_clients(
    connection: AsyncConnection[Any],
    *,
    limit: int,
    after: str | None = None,
    start: str | None = None,
    client: str | None = None,
) -> list[ClientRow]:
    """Returns up to ``limit`` clients that have settings, in order of name, starting after the name ``after`` or at the
    name ``start``.
    """
    found = await rows(connection, ClientRow, "admin/clients", client=client, after=after, start=start, limit=limit)
    return [replace(row, signing_secrets=_hints(row.signing_secrets)) for row in found]


def _hints(stored: Any) -> list[SecretHint]:
    return msgspec.json.decode(stored, type=list[SecretHint])


async def get_client(connection: AsyncConnection[Any], client: str) -> ClientRow:
    """Returns a client's settings. Raises NotFound if it has none."""
    found = await all_clients(connection, limit=1, client=client)
    if not found:
        raise NotFound(f"the client {client[:100]!r} has no settings: the defaults apply")
    return found[0]


async def find_hold(connection: AsyncConnection[Any], client: str) -> ClientRow | None:
    """Returns the client's settings if it is on hold, otherwise None."""
    found = await all_clients(connection, limit=1, client=client)
    return found[0] if found and found[0].state == "held" else None


async def weights(connection: AsyncConnection[Any], names: Sequence[str]) -> dict[str, int]:
    """Returns the weights of the named clients that have settings; the others have weight 1."""
    found = await rows(connection, dict, "admin/weights", clients=list(names))
    return {one["client"]: one["weight"] for one in found}


async def rotate_signing_secret(
    connection: AsyncConnection[Any],
    ring: KeyRing | None,
    client: str,
    *,
    secret: str | None,
    keep_for: timedelta = KEPT_FOR,
    actor: str | None,
) -> str:
    """Replaces a client's signing secret and returns the new one, which is not shown again. Former secrets stay valid
    for ``keep_for``.

    Raises InvalidInput for an invalid signing secret, and Conflict if no sealing keys are configured or too many
    secrets are still valid.
    """
    made = new_signing_secret() if secret is None else secret
    parse_signing_secret(made)
    sealed = sealing(ring).seal(client, SIGNING, made)
    await internal_verbs.rotate_signing_secret(
        connection, client, sealed=sealed, hint=made[-_HINT:], keep_for=keep_for, actor=actor
    )
    return made
