"""Clients' secrets, mainly those named in options: sealed here, stored in the database, and opened by workers."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from psycopg import AsyncConnection

from pgsched.domain.secret import SIGNING, check_secret
from pgsched.errors import Conflict
from pgsched.sealing import CannotOpen, KeyRing
from pgsched.store import internal_verbs
from pgsched.store.core.query import rows


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretRow:
    """A secret, without its content, and the hosts that may receive it."""

    name: str
    created_at: datetime
    updated_at: datetime
    hosts: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sealed:
    """A secret as the database stores it."""

    client_id: str
    name: str
    sealed: bytes
    hosts: Sequence[str] = ()


async def put(
    connection: AsyncConnection[Any],
    ring: KeyRing | None,
    client: str,
    name: str,
    text: str,
    *,
    hosts: Sequence[str] | None = None,
    actor: str | None,
) -> bool:
    """Stores a secret that may be sent only to ``hosts``. None keeps the hosts of an existing secret, and means no
    hosts for a new secret. Returns False if an existing secret was replaced. Raises InvalidInput and Refused, and
    Conflict if no sealing keys are configured or there are too many secrets."""
    check_secret(name, text)
    sealed = sealing(ring).seal(client, name, text)
    given = None if hosts is None else list(hosts)
    return await internal_verbs.put_secret(connection, client, name, sealed=sealed, hosts=given, actor=actor)


async def all_secrets(
    connection: AsyncConnection[Any], client: str, *, limit: int, after: str | None = None
) -> list[SecretRow]:
    """Returns up to ``limit`` of a client's secrets in order of name, starting after the name ``after``."""
    return await rows(connection, SecretRow, "admin/secrets", client=client, after=after, limit=limit)


async def look_up(connection: AsyncConnection[Any], wanted: Collection[tuple[str, str]]) -> list[Sealed]:
    """Returns the secrets that exist among these pairs of client and name."""
    clients, names = [client for client, _ in wanted], [name for _, name in wanted]
    return await rows(connection, Sealed, "admin/wanted_secrets", clients=clients, names=names)


async def reseal_all(connection: AsyncConnection[Any], ring: KeyRing | None) -> int:
    """Reseals all secrets that are not sealed with the first key, and returns their number. Raises CannotOpen, which
    names the secret, if a secret's key is missing."""
    keys, done, last = sealing(ring), 0, Sealed(client_id="", name="", sealed=b"")
    while found := await rows(connection, Sealed, "admin/sealed_secrets", signing=SIGNING, **_place(last)):
        for row in found:
            if not keys.is_newest(row.sealed):
                anew = _anew(keys, row)
                done += await internal_verbs.reseal(connection, row.client_id, row.name, before=row.sealed, after=anew)
        last = found[-1]
    return done


def _place(row: Sealed) -> dict[str, Any]:
    return {"client": row.client_id, "name": row.name, "sealed": row.sealed}


def _anew(ring: KeyRing, row: Sealed) -> bytes:
    try:
        return ring.seal(row.client_id, row.name, ring.open(row.client_id, row.name, row.sealed))
    except CannotOpen as error:
        what = "its signing secret" if row.name == SIGNING else f"its secret {row.name}"
        raise CannotOpen(
            f"client {row.client_id!r}, {what}: {error}; add that key to secret_keys, or replace or drop the secret"
        ) from None


def sealing(ring: KeyRing | None) -> KeyRing:
    """Returns the ring. Raises Conflict if it is None."""
    if ring is None:
        raise Conflict(
            "there are no keys to seal secrets with: set PGSCHED_SECRET_KEYS to the output of pgsched admin secrets "
            "new-key, for the API, the workers and this command alike"
        )
    return ring
