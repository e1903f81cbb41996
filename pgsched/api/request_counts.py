"""Counts the requests to the API and how long they took, around the whole of it."""

import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from pgsched.metrics.snapshot import Distribution, Histogram, Snapshot, Value

Message = MutableMapping[str, Any]
_Receive = Callable[[], Awaitable[Message]]
_Send = Callable[[Message], Awaitable[None]]
AsgiApp = Callable[[Any, Any, Any], Awaitable[None]]
_METHODS = frozenset({"DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"})


class RequestCounts:
    """The requests of this process, by method, route and status."""

    def __init__(self) -> None:
        self._counts: defaultdict[tuple[str, str, str], int] = defaultdict(int)
        self._durations: defaultdict[str, Histogram] = defaultdict(Histogram)

    def around(self, app: AsgiApp) -> AsgiApp:
        """The application with its requests counted, each when the head of its answer is sent."""

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
        """A path that is no route's, and a method that nobody knows, are not told apart from others of their kind."""
        route = scope.get("path_template") or "none"
        method = scope["method"] if scope["method"] in _METHODS else "other"
        self._counts[method, route, str(status)] += 1
        self._durations[route].observe(seconds)

    def snapshot(self) -> Snapshot:
        counts = [Value("pgsched_api_requests", labels, count) for labels, count in self._counts.items()]
        name = "pgsched_api_request_duration_seconds"
        return Snapshot(counts, [Distribution(name, (route,), of) for route, of in self._durations.items()])
