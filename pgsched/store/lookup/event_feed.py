"""Reads the ends of executions in the order in which they became visible. Each end is read once, however late its
transaction committed.

A page covers a limited range of transactions, so its cost does not depend on how much there is to read.
"""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg import AsyncConnection

from pgsched.domain.event_position import Position, TransactionSnapshot, VisibilityHorizon
from pgsched.store.core.query import first, rows
from pgsched.store.lookup.filters import EventFilter
from pgsched.store.lookup.row_types import Event

_NO_ID = UUID(int=0)
SPAN, _WIDER, _NARROWEST, _WIDEST = 10_000, 8, 16, 2**40


@dataclass(frozen=True, slots=True, kw_only=True)
class EventPage:
    """Events, each with its ``cursor``. ``end`` is the reader's position after the page, ``span`` is the number of
    transactions that the next page should cover, and ``complete`` is True if the page reaches the horizon.
    """

    items: list[Event]
    end: Position
    span: int
    complete: bool


async def horizon(connection: AsyncConnection[Any]) -> VisibilityHorizon:
    """Returns the position up to which ends can be read now."""
    found = await first(connection, "lookup/horizon")
    assert found is not None
    snapshot, at = found
    return VisibilityHorizon(seen=TransactionSnapshot.parse(snapshot), newest=int(snapshot.split(":")[1]), at=at)


async def read_events(
    connection: AsyncConnection[Any],
    position: Position,
    horizon: VisibilityHorizon,
    *,
    clients: Collection[str] | None = None,
    since: datetime | None = None,
    limit: int = 500,
    span: int = SPAN,
) -> EventPage:
    """Returns the events after a position, for these clients or for all that the session may see. ``horizon`` ends the
    range, and must include the position.
    """
    low, end = position.seen.xmax, max(horizon.seen.xmax, position.seen.xmax)
    high = min(end, low + span)
    found = await rows(
        connection,
        dict,
        "lookup/events",
        earliest=max(filter(None, (position.earliest, since))),
        late=position.late(horizon),
        open=[one for one in horizon.seen.open if low <= one < high],
        low=low,
        high=high,
        partly=-1 if position.transaction is None else position.transaction,
        id=position.id or _NO_ID,
        clients=None if clients is None else sorted(clients),
        limit=limit,
    )
    items = []
    for row in found:
        position = position.after(horizon, row.pop("settled_in"), row["id"])
        items.append(Event(cursor=str(position), **row))
    if len(found) == limit:
        return EventPage(items=items, end=position, span=max(span // _WIDER, _NARROWEST), complete=False)
    wider = min(span * _WIDER, _WIDEST) if len(found) < limit // _WIDER else span
    return EventPage(items=items, end=position.up_to(horizon, high), span=wider, complete=high == end)


async def list_events(
    connection: AsyncConnection[Any],
    wanted: EventFilter,
    position: Position,
    now: VisibilityHorizon,
    *,
    limit: int,
    since: datetime | None = None,
) -> tuple[list[Event], Position]:
    """Returns the first ``limit`` events that match, and the reader's position after them."""
    items, span, complete = list[Event](), SPAN, False
    clients = None if wanted.client is None else [wanted.client]
    while not complete:
        page = await read_events(connection, position, now, clients=clients, since=since, span=span)
        items += filter(wanted.takes, page.items)
        if len(items) >= limit:
            return items[:limit], Position.parse(items[limit - 1].cursor)
        position, span, complete = page.end, page.span, page.complete
    return items, position
