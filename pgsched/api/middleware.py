"""ASGI middleware around the application: counts and times requests, and refuses those that exceed a limit.

Limits apply to a request's head, to the time its body takes to arrive, and to data that arrives after the response is
ready, for example because the request was refused. Such data is read for up to two seconds, because a client can lose
the response if the connection is closed with unread data. If the request is still incomplete, the connection is closed
after the response.
"""

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

import msgspec

from pgsched.api.http_connections import CONNECTION
from pgsched.api.problems import MEDIA_TYPE, unread_problem
from pgsched.metrics.counts import Counts

Message = MutableMapping[str, Any]
_Receive = Callable[[], Awaitable[Message]]
_Send = Callable[[Message], Awaitable[None]]
AsgiApp = Callable[[Any, Any, Any], Awaitable[None]]
_MOST_HEADERS, _LONGEST_URL, _MOST_PARAMETERS = 256, 32 * 1024, 500
_LINGERS, _MOST_SURPLUS = 2.0, 4 * 1024 * 1024  # seconds and bytes of further reading once the response is ready
_ONCE = (b"host", b"origin", b"authorization")
"""Headers that may occur only once. If a header occurred twice, a proxy and the API could read different values."""
_CLOSE = (b"connection", b"close")
_METHODS = frozenset({"DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"})


class RequestCounts:
    """Counts the requests of this process, by method, route and status."""

    def __init__(self) -> None:
        self.counts = Counts()

    def around(self, app: AsgiApp) -> AsgiApp:
        """Wraps the application, so that each request is counted when the head of its response is sent."""

        async def counted(scope: Message, receive: _Receive, send: _Send) -> None:
            if scope["type"] != "http":
                await app(scope, receive, send)
                return
            began = time.perf_counter()

            async def noting(message: Message) -> None:
                if message["type"] == "http.response.start":
                    self._note(scope, message["status"], time.perf_counter() - began)
                await send(message)

            await app(scope, receive, noting)

        return counted

    def _note(self, scope: Message, status: int, seconds: float) -> None:
        """Counts one request. Paths without a route count as ``none``, and unknown methods as ``other``."""
        route = scope.get("path_template") or "none"
        method = scope["method"] if scope["method"] in _METHODS else "other"
        self.counts.count(1, "pgsched_api_requests", method, route, str(status))
        self.counts.observe(seconds, "pgsched_api_request_duration_seconds", route)


def limited(app: AsgiApp) -> AsgiApp:
    """Wraps the application, so that the limits apply. The server must use the connections of ``http_connections``."""

    async def within_limits(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await app(scope, receive, send)
            return
        request = _Request(scope, receive, send)
        try:
            if (problem := request.problem()) is None:
                await app(scope, request.receive, request.send)
            else:
                await _refuse(request, *problem)
        finally:
            request.end()

    return within_limits


async def _refuse(request: "_Request", status: int, detail: str) -> None:
    body = msgspec.json.encode(unread_problem(status, detail))
    headers = [(b"content-type", MEDIA_TYPE.encode()), (b"content-length", b"%d" % len(body)), _CLOSE]
    await request.send({"type": "http.response.start", "status": status, "headers": headers})
    await request.send({"type": "http.response.body", "body": body})


class _Request:
    """One request. ``_is_whole`` is true once the whole request has been read."""

    __slots__ = ("_connection", "_is_answered", "_is_whole", "_names", "_receive", "_scope", "_send")

    def __init__(self, scope: Any, receive: Any, send: Any) -> None:
        self._scope, self._receive, self._send = scope, receive, send
        self._connection = scope["state"][CONNECTION]
        scope["headers"] = headers = list(scope["headers"])  # a copy, because uvicorn adds trailers to its own list
        self._names = [name for name, _ in headers]
        self._is_whole = not (b"content-length" in self._names or b"transfer-encoding" in self._names)
        self._is_answered = False
        self._connection.begin(has_body=not self._is_whole)

    def problem(self) -> tuple[int, str] | None:
        """Returns the status and the reason if the request's head must be refused, or None."""
        names, path, query = self._names, self._scope["raw_path"], self._scope["query_string"]
        if len(names) > _MOST_HEADERS:
            return 431, f"the request has over {_MOST_HEADERS} headers: send fewer"
        if len(path) + len(query) > _LONGEST_URL or query.count(b"&") > _MOST_PARAMETERS:
            return 431, f"the URL is over 32 KiB, or has over {_MOST_PARAMETERS} parameters: send fewer or shorter ones"
        for name in _ONCE:
            if names.count(name) > 1:
                return 400, f"the request has more than one {name.decode()} header: send it once"
        return None

    async def receive(self) -> Any:
        if self._is_whole:
            return await self._receive()
        self._connection.ask()
        message = await self._receive()
        self._is_whole = not (message["type"] == "http.request" and message["more_body"])
        self._connection.take(more=not self._is_whole)
        return message

    async def send(self, message: Any) -> None:
        if message["type"] == "http.response.start":
            if not self._is_whole:
                await self._read_on()
            if not self._is_whole or b"upgrade" in self._names:  # no upgrade is supported
                message = message | {"headers": [*message["headers"], _CLOSE]}
        await self._send(message)
        if message["type"] == "http.response.body" and not message.get("more_body", False):
            self.end()

    async def _read_on(self) -> None:
        if b"expect" in self._names:  # the client waits for 100 Continue before it sends the body
            return
        size = 0
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_LINGERS):
                while not self._is_whole and size < _MOST_SURPLUS:
                    size += len((await self.receive()).get("body", b""))

    def end(self) -> None:
        """Reports that the request has been answered, or will never be."""
        if not self._is_answered:
            self._is_answered = True
            self._connection.answer()
