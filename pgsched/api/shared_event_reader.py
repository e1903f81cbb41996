"""Reads ended executions from the database once for all event streams of this process.

While there are readers, one task checks twice a second for new events, reads them for the clients of all readers, and
keeps the latest pages. A reader whose position is the start of a kept page gets that page. Any other reader reads from
the database itself until it has caught up, so a slow reader does not delay the others.
"""

import asyncio
import time
from collections import Counter, OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import msgspec

from pgsched.api.connection_pool import Database
from pgsched.api.quotas import FairShares
from pgsched.domain.api_key import Grant
from pgsched.domain.event_position import Position, VisibilityHorizon
from pgsched.errors import PgschedError, TooManyRequests
from pgsched.store.lookup import event_feed as ends
from pgsched.store.lookup.row_types import Event
from pgsched.telemetry import Events

MOST, MOST_EACH = 200, 20
"""The maximum number of readers of a process, and of one client, no matter how many keys it uses."""
_EVERY, _LONGEST_PAUSE = 0.5, 5.0
_PART = 4  # the minimum pause after a poll, relative to its duration
_PAGE, _OWN_PAGE = 1000, 200
_MOST_BYTES = 4 << 20
Clients = frozenset[str] | None
_encoder = msgspec.json.Encoder()


@dataclass(frozen=True, slots=True)
class EncodedEvent:
    """An event, and its encoded frame."""

    event: Event
    frame: bytes

    @classmethod
    def of(cls, event: Event) -> "EncodedEvent":
        return cls(event, b"id: %s\ndata: %s\n\n" % (event.cursor.encode(), _encoder.encode(event)))


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedPage:
    """The events of some clients that follow a position, and the position after these events."""

    told: list[EncodedEvent]
    end: Position
    clients: Clients
    span: int = 0

    @property
    def size(self) -> int:
        return 200 + sum(len(told.frame) for told in self.told)

    def covers(self, clients: Clients) -> bool:
        return self.clients is None or (clients is not None and clients <= self.clients)


class Feed:
    """Reads events for all readers of a process, as long as there are any."""

    def __init__(self, database: Database, events: Events) -> None:
        self._database, self._events = database, events
        self._readers = Counter[Clients]()
        self._shares = FairShares(MOST, MOST)
        self._looking: asyncio.Task[None] | None = None
        self._forget()

    def _forget(self) -> None:
        self.horizon: VisibilityHorizon | None = None
        self.changed = asyncio.Event()
        self.closed = asyncio.Event()
        """Set when readers must end because the process stops or the database has been replaced."""
        self._kept = OrderedDict[tuple[Any, ...], FeedPage]()
        self._bytes = 0
        self._position: Position | None = None

    @contextmanager
    def reading(self, grant: Grant, clients: Clients) -> Iterator[None]:
        """Registers a reader for the block. Raises TooManyRequests."""
        mine = self._shares.has(grant.payers)
        if mine >= MOST_EACH or not self._shares.take_now(grant.payers):
            raise TooManyRequests(f"{mine} event streams are open for this client: close one before opening another")
        self._readers[clients] += 1
        if self._looking is None or self._looking.done():
            self._forget()
            self._looking = asyncio.create_task(self._look_on())
        try:
            yield
        finally:
            self._readers[clients] -= 1
            self._readers += Counter()  # drops entries with no readers
            self._shares.give_back(grant.payers)

    def close(self) -> None:
        """Ends all readers."""
        self.closed.set()

    async def stop(self) -> None:
        self.close()
        if self._looking is not None:
            self._looking.cancel()
            with suppress(asyncio.CancelledError, RuntimeError):  # a task of a closed loop is already gone
                await self._looking
        self._looking = None

    def kept(self, position: Position, clients: Clients) -> FeedPage | None:
        """Returns the next page for a reader of these clients, or None if no such page is kept."""
        page = self._kept.get(position.place)
        return page if page is not None and page.covers(clients) else None

    async def read(
        self, grant: Grant, clients: Clients, position: Position, horizon: VisibilityHorizon, span: int
    ) -> FeedPage:
        """Reads the next page for a single reader, with the rights of its key."""
        database = self._database.acting(grant)
        async with database.page() as connection:
            found = await ends.read_events(
                connection, position, horizon, clients=clients, limit=_OWN_PAGE, span=span or ends.SPAN
            )
        return FeedPage(
            told=[EncodedEvent.of(event) for event in found.items], end=found.end, clients=clients, span=found.span
        )

    async def _look_on(self) -> None:
        pause = _EVERY
        while self._readers and not self.closed.is_set():
            began = time.monotonic()
            try:
                await self._look()
                pause = min(max(_EVERY, _PART * (time.monotonic() - began)), _LONGEST_PAUSE)
            except PgschedError:  # the database is unavailable or slow
                pause = min(2 * pause, _LONGEST_PAUSE)
            except Exception as error:
                self._events.emit("api.failed", route="GET /v1/events", error=f"{type(error).__name__}: {error}"[:500])
                pause = _LONGEST_PAUSE
            await asyncio.sleep(pause)

    async def _look(self) -> None:
        now = await self._database.ask(ends.horizon)
        if self._position is None:
            self._position = Position.of(now)
        elif self._position.seen.xmax > now.newest:  # another database, or an earlier state of the same one
            self.close()
        elif self._position.is_within(now):
            await self._read_up_to(now, self._position)
        self.horizon = now
        self._tell()

    async def _read_up_to(self, now: VisibilityHorizon, position: Position) -> None:
        span, complete = ends.SPAN, position.seen == now.seen
        while not complete and self._readers:
            clients = self._clients()
            database = self._database.acting(Grant(subject="", clients=clients, scopes=frozenset()))
            found = await database.ask(ends.read_events, position, now, clients=clients, limit=_PAGE, span=span)
            page = FeedPage(told=[EncodedEvent.of(event) for event in found.items], end=found.end, clients=clients)
            self._keep(position, page)
            self._position = position = found.end
            span, complete = found.span, found.complete
            self._tell()

    def _clients(self) -> Clients:
        wanted = list(self._readers)
        return None if None in wanted else frozenset().union(*(clients or () for clients in wanted))

    def _keep(self, start: Position, page: FeedPage) -> None:
        self._kept[start.place] = page
        self._bytes += page.size
        while self._bytes > _MOST_BYTES:
            self._bytes -= self._kept.popitem(last=False)[1].size

    def _tell(self) -> None:
        changed, self.changed = self.changed, asyncio.Event()
        changed.set()
