"""The list of sidelined target hosts."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from psycopg import AsyncConnection

from pgsched.store.core.query import rows

COUNTED_OF_A_TARGET = 10_000
"""What a target holds is counted up to this."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sidelined:
    """A host that is left alone or recovers, for one ``client`` or (None) for all.

    ``state`` is ``failing``, ``probing``, ``recovering`` or ``by hand``. ``until`` is None where it is for as long as
    nobody restores it, and while it recovers. ``openings`` is how often in a row it was found failing;
    ``failing_since`` is when the first attempt failed after the last one that succeeded, and ``since`` when the state
    changed last; ``held`` is counted up to 10,000.
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
    """At most ``limit`` of them in the order of their gates, those behind ``after``, which is a gate."""
    return await rows(connection, Sidelined, "gates/sidelined", client=client, after=after, limit=limit)
