"""Secrets of clients, those that options name above all: sealed here, kept by the database, and opened by workers."""

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
    """A secret, without what is in it, and the hosts to which it goes."""

    name: str
    created_at: datetime
    updated_at: datetime
    hosts: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sealed:
    """A secret as the database keeps it."""

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
    """Keeps a secret that goes to these ``hosts`` alone; None stands for those that it had, and for none where it is
    new. False where it takes the place of another. Raises InvalidInput, Refused; Conflict where there are no keys to
    seal it with, or too many secrets."""
    check_secret(name, text)
    sealed = sealing(ring).seal(client, name, text)
    given = None if hosts is None else list(hosts)
    return await internal_verbs.put_secret(connection, client, name, sealed=sealed, hosts=given, actor=actor)


async def all_secrets(
    connection: AsyncConnection[Any], client: str, *, limit: int, after: str | None = None
) -> list[SecretRow]:
    """At most ``limit`` secrets of a client by name, those behind ``after``."""
    return await rows(connection, SecretRow, "admin/secrets", client=client, after=after, limit=limit)


async def look_up(connection: AsyncConnection[Any], wanted: Collection[tuple[str, str]]) -> list[Sealed]:
    """Those of these clients and names that there are."""
    clients, names = [client for client, _ in wanted], [name for _, name in wanted]
    return await rows(connection, Sealed, "admin/wanted_secrets", clients=clients, names=names)


async def reseal_all(connection: AsyncConnection[Any], ring: KeyRing | None) -> int:
    """Seals all secrets with the first key that are sealed with another; how many these were. Raises CannotOpen, naming
    the one, where a key is missing."""
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
            f"client {row.client_id!r}, {what}: {error}; give that key, or have a new secret in its place, or drop it"
        ) from None


def sealing(ring: KeyRing | None) -> KeyRing:
    """Raises Conflict where there is none."""
    if ring is None:
        raise Conflict(
            "there are no keys to seal secrets with: set PGSCHED_SECRET_KEYS to what pgsched admin secrets new-key "
            "prints, for the API, the workers and this command alike"
        )
    return ring
