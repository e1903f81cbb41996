"""Lists sidelined target hosts."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from psycopg import AsyncConnection

from pgsched.store.core.query import rows

COUNTED_OF_A_TARGET = 10_000
"""Executions held for a target are counted up to this number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sidelined:
    """A host that is not called or is recovering, for one ``client`` or, if None, for all.

    ``state`` is ``failing``, ``probing``, ``recovering`` or ``by hand``. ``until`` is None while the host recovers, or
    if somebody must restore it by hand. ``openings`` is how many times in a row the host was found failing.
    ``failing_since`` is when the first attempt failed after the last success, and ``since`` is when the state last
    changed. ``held`` is the number of held executions, counted up to 10,000.
    """

    gate: str
    host: str
    client: str | None
    state: str
    until: datetime | None
    openings: int
    reason: str | None
    since: datetime
    failing_since: datetime | None
    held: int


async def sidelined(
    connection: AsyncConnection[Any], *, limit: int, client: str | None = None, after: str | None = None
) -> list[Sidelined]:
    """Returns up to ``limit`` sidelined hosts ordered by gate, after the gate ``after``."""
    return await rows(connection, Sidelined, "gates/sidelined", client=client, after=after, limit=limit)
