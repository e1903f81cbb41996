"""GET /v1/events: the outcomes of executions as server-sent events, in the order in which they become visible.

Each event has an id. A reader that was disconnected resumes after the last id it received, so it neither misses an
event nor sees one twice.
"""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated

from litestar.di import NamedDependency
from litestar.params import HeaderParameter, QueryParameter
from litestar.response import Stream

from pgsched.api.access import check_still, grant_of
from pgsched.api.authentication import Authentication
from pgsched.api.parameters import Client, Key, OfJob, Pooled
from pgsched.api.problems import Unreadable
from pgsched.api.request_reading import ApiRequest
from pgsched.api.routing import reads
from pgsched.api.shared_event_reader import Clients, Feed, FeedPage
from pgsched.domain.api_key import Grant
from pgsched.domain.duration import length_of
from pgsched.domain.event_position import LONGEST, Position, VisibilityHorizon
from pgsched.domain.states import EndStatus
from pgsched.errors import InvalidInput, InvalidSchedule, Refused, Unauthenticated, Unavailable
from pgsched.store.lookup import event_feed as ends
from pgsched.store.lookup.filters import EventFilter

EVENT_STREAM = "text/event-stream"
_BEAT = 15.0
_CHECKED = 0.5
_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
_AFTER = "The id of the last event read: the stream continues after that event. If omitted, the stream starts now."
Feeding = NamedDependency[Feed]
Authenticating = NamedDependency[Authentication]
_Statuses = Annotated[
    list[EndStatus] | None, QueryParameter(name="status", description="Only these outcomes; may be repeated.")
]
_Queue = Annotated[str | None, QueryParameter(name="queue")]
_Wait = Annotated[
    str | None,
    QueryParameter(
        name="wait", description="How long the stream lasts (30s, PT1M, 0s). If omitted, the stream does not end."
    ),
]
_After = Annotated[str | None, QueryParameter(name="after", max_length=LONGEST, description=_AFTER)]
_LastEventId = Annotated[
    str | None,
    HeaderParameter(
        name="Last-Event-ID", max_length=LONGEST, description="Alternative to the parameter `after`; takes precedence."
    ),
]


@dataclass(slots=True, kw_only=True)
class _Reader:
    """One event stream, and its position."""

    feed: Feed
    authentication: Authentication
    request: ApiRequest
    grant: Grant
    wanted: EventFilter
    position: Position
    asked: VisibilityHorizon
    until: float
    span: int = 0
    checked: float = 0.0

    async def frames(self) -> AsyncIterator[bytes]:
        with self.feed.reading(self.grant, self._clients):
            closed, said = self.feed.closed, time.monotonic()
            self.checked = said
            yield b"retry: 1000\nid: %s\n\n" % str(self.position).encode()
            while not closed.is_set():
                changed, now = self.feed.changed, time.monotonic()
                if not await self._is_let_in():
                    return
                if self.checked < now - 2 * _CHECKED:  # nothing is sent while the key cannot be checked
                    await asyncio.sleep(_CHECKED)
                elif page := await self._next():
                    self.position, self.span = page.end, page.span
                    if frames := self._wanted(page):
                        yield frames
                        said = time.monotonic()
                elif now >= self.until:
                    return
                elif now - said >= _BEAT:
                    yield b":\nid: %s\n\n" % str(self.position).encode()
                    said = now
                else:
                    await _wait(changed, min(_CHECKED, self.until - now))

    @property
    def _clients(self) -> Clients:
        named = self.wanted.client
        if named is None:
            return self.grant.clients
        return frozenset({named} if self.grant.is_for(named) else ())

    async def _is_let_in(self) -> bool:
        """Checks the key twice a second, so that a revoked or changed key soon ends the stream."""
        now = time.monotonic()
        if now - self.checked >= _CHECKED:
            try:
                await check_still(self.authentication, self.request)
                self.checked = now
            except (Unauthenticated, Refused):
                return False
            except Unavailable:
                pass
        return True

    async def _next(self) -> FeedPage | None:
        if page := self.feed.kept(self.position, self._clients):
            return page
        for horizon in (self.feed.horizon, self.asked):
            if horizon is not None and self._has_left(horizon):
                with suppress(Unavailable):
                    return await self.feed.read(self.grant, self._clients, self.position, horizon, self.span)
                return None
        return None

    def _has_left(self, horizon: VisibilityHorizon) -> bool:
        is_there = self.position.seen == horizon.seen and self.position.transaction is None
        return not is_there and self.position.is_within(horizon)

    def _wanted(self, page: FeedPage) -> bytes:
        """Returns the frames of those events that this reader wants and may see. A page is shared with other
        readers."""
        return b"".join(
            told.frame for told in page.told if self.grant.is_for(told.event.client) and self.wanted.takes(told.event)
        )


@reads(
    "/events",
    "Follow the outcomes of executions",
    scope="read",
    media_type=EVENT_STREAM,
    response_description="Server-sent events, each with the outcome of one execution as JSON.",
)
async def follow_events(
    request: ApiRequest,
    database: Pooled,
    feed: Feeding,
    authentication: Authenticating,
    client: Client = None,
    statuses: _Statuses = None,
    queue: _Queue = None,
    key: Key = None,
    job: OfJob = None,
    wait: _Wait = None,
    after: _After = None,
    last_event_id: _LastEventId = None,
) -> Stream:
    """Reports each outcome (succeeded, failed, cancelled, expired or skipped) as soon as it becomes visible. Executions
    that are not kept in history are not reported."""
    seconds = _seconds(wait)
    asked = await database.ask(ends.horizon)
    position = _position(last_event_id or after, "Last-Event-ID" if last_event_id else "after", asked)
    reader = _Reader(
        feed=feed,
        authentication=authentication,
        request=request,
        grant=grant_of(request),
        wanted=EventFilter(client=client, queue=queue, statuses=tuple(statuses or ()), key=key, job=job),
        position=position,
        asked=asked,
        until=time.monotonic() + seconds,
    )
    frames = reader.frames()
    first = await anext(frames)
    return Stream(_with(first, frames), media_type=EVENT_STREAM, status_code=200, headers=_HEADERS)


async def _with(first: bytes, frames: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield first
    async for frame in frames:
        yield frame


async def _wait(changed: asyncio.Event, seconds: float) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(max(seconds, 0)):
            await changed.wait()


def _seconds(wait: str | None) -> float:
    try:
        return float("inf") if wait is None else length_of(wait) / timedelta(seconds=1)
    except InvalidSchedule as error:
        raise Unreadable.parameter("wait", error, status=422) from None


def _position(text: str | None, name: str, horizon: VisibilityHorizon) -> Position:
    """Returns the position to start at. Raises Unreadable, or InvalidInput for a position in another database."""
    if text is None:
        return Position.of(horizon)
    try:
        found = Position.parse(text)
    except InvalidInput as error:
        raise Unreadable.parameter(name, error, status=422) from None
    found.check(horizon)
    return found
