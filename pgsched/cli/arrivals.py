"""The demo's receiving end: a small HTTP server that notes what arrives and when, and the table it is shown in."""

import statistics
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from aiohttp import web

from pgsched.cli.reply import table


@dataclass(slots=True)
class Arrivals:
    """What arrived, by name: each scheduled instant with the lateness in ms of its first arrival."""

    instants: dict[str, dict[datetime, float]] = field(default_factory=lambda: defaultdict(dict))
    numbers: set[int] = field(default_factory=set)

    async def receive(self, request: web.Request) -> web.Response:
        """Takes one callback. It runs on the same machine as the database, so the clocks agree."""
        arrived = time.time()
        scheduled_for = datetime.fromisoformat(request.headers["pgsched-scheduled-for"])
        name, number = request.match_info["name"], request.match_info["number"]
        self.instants[name].setdefault(scheduled_for, (arrived - scheduled_for.timestamp()) * 1000)
        if name == "once":
            self.numbers.add(int(number))
        return web.Response()

    def rows(self, expected: Mapping[str, str]) -> str:
        """The table: a line for each name, with what it is expected to bring."""
        lines = [self._row(name, what) for name, what in expected.items()]
        return table(("what", "arrived", "p50 ms", "p99 ms", "max ms", "last ms"), lines)

    def lateness(self, name: str) -> dict[str, float]:
        """p50, p99, maximum and last lateness in ms; empty before anything arrived."""
        late = list(self.instants[name].values())
        if not late:
            return {}
        ordered = sorted(late)
        p99 = ordered[min(len(ordered) - 1, int(len(ordered) * 0.99))]
        values = {"p50_ms": statistics.median(ordered), "p99_ms": p99, "max_ms": ordered[-1], "last_ms": late[-1]}
        return {name: round(value, 2) for name, value in values.items()}

    def arrived(self, name: str) -> int:
        return len(self.numbers) if name == "once" else len(self.instants[name])

    def missing(self, name: str, every: timedelta, *, until: datetime) -> list[datetime]:
        """Instants between a recurring job's first and ``until`` that did not arrive."""
        found = self.instants[name]
        if not found:
            return [until]
        first = min(found)
        count = max(0, (until - first) // every)
        return [instant for n in range(count + 1) if (instant := first + n * every) not in found]

    def _row(self, name: str, what: str) -> tuple[object, ...]:
        late = self.lateness(name)
        cells = [f"{late[key]:.1f}" if late else None for key in ("p50_ms", "p99_ms", "max_ms", "last_ms")]
        return (what, self.arrived(name), *cells)


@asynccontextmanager
async def receiving(arrivals: Arrivals) -> AsyncIterator[str]:
    """Listens on a free port of this machine; yields the address."""
    app = web.Application()
    app.router.add_post("/{name}/{number}", arrivals.receive)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()
