"""Follows the stream of execution outcomes, for both clients.

A broken stream is resumed after the last event received, so each event is seen once.
"""

from collections.abc import Iterator, Sequence
from typing import TypedDict

import httpx
import msgspec

from pgsched.client.requests import Call, Id, Length, body, check_names, path, unavailable
from pgsched.errors import PgschedError, Unavailable
from pgsched.store.lookup.row_types import Event

_SILENCE = 60.0  # seconds; the API sends at least a comment every 15
_NOTHING = 0.1


class EventQuery(TypedDict, total=False):
    """Filters for events. ``status`` is one or more statuses, any of which may match. ``wait`` is how long the stream
    lasts."""

    client: str | None
    queue: str | None
    status: str | Sequence[str] | None
    key: str | None
    job: Id | None
    wait: Length | None


class EventStream:
    """The position in the stream, and the request for the events after it."""

    def __init__(self, wanted: EventQuery, after: str | None, retries: int) -> None:
        check_names(wanted, EventQuery)
        query = body(wanted) | {"after": after}
        self._call = Call("GET", path("events"), Event, query=query, timeout=_SILENCE)
        self._retries, self._failures = retries, 0
        self._ends = wanted.get("wait") is not None
        self._rest = bytearray()

    def request(self, http: httpx.Client | httpx.AsyncClient) -> httpx.Request:
        """The request that resumes the stream after the last event read."""
        self._rest.clear()
        return self._call.send_by(http)

    def read(self, piece: bytes) -> Iterator[Event]:
        """Adds a piece of the response, and yields the events that are now complete."""
        seen = max(len(self._rest) - 1, 0)
        self._rest += piece
        if self._rest.find(b"\n\n", seen) < 0:
            return
        *frames, rest = bytes(self._rest).split(b"\n\n")
        self._rest = bytearray(rest)
        for frame in frames:
            fields = dict(line.split(b": ", 1) for line in frame.split(b"\n") if b": " in line)
            self._failures = 0
            try:
                event = msgspec.json.decode(data, type=Event) if (data := fields.get(b"data")) else None
                place = event.cursor if event else fields.get(b"id", b"").decode("ascii")
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
                raise PgschedError(f"the stream contains something that is not a pgsched event: {error}") from error
            if place:
                self._call = self._call.following(place)
            if event:
                yield event

    def ended(self) -> float | None:
        """Seconds to wait before resuming a stream that has ended, or None if no more events are wanted."""
        return None if self._ends else self._next(_NOTHING, Unavailable("the API ends every event stream immediately"))

    def refused(self, response: httpx.Response) -> float:
        """Seconds to wait before repeating the request. If a retry cannot help, raises the error in the response."""
        pause = self._call.pause(self._retries, self._failures, response)
        if pause is None:
            self._call.read(response)
            raise PgschedError(f"{response.url} returned {response.status_code} without events")
        self._failures += 1
        return pause

    def broken(self, error: httpx.RequestError) -> float:
        """Seconds to wait before repeating the request. Raises Unavailable when the retries are used up."""
        return self._next(self._call.pause(self._retries, self._failures), unavailable(error))

    def _next(self, pause: float | None, otherwise: Unavailable) -> float:
        if pause is None or self._failures >= self._retries:
            raise otherwise
        self._failures += 1
        return pause
