"""``pgsched dev demo``: a whole installation for half a minute, with proof that everything arrived."""

import asyncio
import dataclasses
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pgsched.cli.answers import Answer
from pgsched.cli.demo_receiver import Receiver, receiving
from pgsched.cli.migrate import bring_up
from pgsched.cli.processes import worker_program
from pgsched.cli.reply import Reply, json_option
from pgsched.cli.supervisor import Supervisor
from pgsched.embedded import EmbeddedPostgres
from pgsched.errors import PgschedError
from pgsched.settings import Settings
from pgsched.store import verbs
from pgsched.store.core.sql import statement
from pgsched.store.core.transactions import transaction

if TYPE_CHECKING:
    from pgsched.client import Request

ONE_SHOTS = 1000
_FEWEST = 3
"""Instants that each recurring job must have had before the demo ends."""

_JOBS: dict[str, tuple[str, str, timedelta]] = {
    "second": ("every", "1s", timedelta(seconds=1)),
    "other": ("every", "2s", timedelta(seconds=2)),
    "third": ("cron", "*/3 * * * * *", timedelta(seconds=3)),
}
_RULES = {"on_missed": "all", "on_overlap": "allow"}


@click.command()
@json_option
@click.pass_context
def demo(context: click.Context, /) -> None:
    """Schedule 1,000 one-shots and three recurring jobs against a local receiver, and watch them arrive.

    Uses a PostgreSQL of its own in a temporary directory. Exit status 0 only if everything arrived.
    """
    reply: Reply = context.obj
    with tempfile.TemporaryDirectory(prefix="pgsched-demo-") as directory:
        reply.note("starting a PostgreSQL for the demo")
        with EmbeddedPostgres(Path(directory) / "postgres") as server:
            bring_up(server.url)
            settings = Settings(database_url=server.url, allow_private_targets=True, drain_timeout=5)
            verdict = asyncio.run(_run(settings, reply))
    reply.give(verdict.value, verdict.text)
    context.exit(0 if verdict.value["ok"] else 1)


async def _run(settings: Settings, reply: Reply) -> Answer:
    arrivals = Receiver()
    async with receiving(arrivals) as url, _workers(settings, reply) as supervising:
        await asyncio.to_thread(_schedule, settings, url)
        showing = asyncio.create_task(_show(arrivals, reply))
        until = await _arrive(settings, arrivals, supervising)
        showing.cancel()
    return _judge(arrivals, until)


@asynccontextmanager
async def _workers(settings: Settings, reply: Reply) -> AsyncIterator[asyncio.Task[None]]:
    settings = dataclasses.replace(settings, log_format="human")
    programs = [worker_program(number, settings, None) for number in (1, 2)]
    supervisor = Supervisor(programs, drain_timeout=settings.drain_timeout, report=_warnings_to(reply))
    ready = asyncio.Event()
    running = asyncio.create_task(supervisor.run(on_ready=ready.set))
    waiting = asyncio.create_task(ready.wait())
    await asyncio.wait([running, waiting], return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()
    try:
        yield running
    finally:
        if not running.done():
            supervisor.stop()
        await running


def _schedule(settings: Settings, url: str) -> None:
    from pgsched.client import schedule, schedule_many

    with transaction(settings.database_url or "") as connection:
        for name, (kind, spec, _) in _JOBS.items():
            recurs: Any = {kind: spec}
            schedule(connection, f"{url}/{name}/0", key=name, rules=_RULES, **recurs)
        schedule_many(connection, (_one_shot(url, n) for n in range(1, ONE_SHOTS + 1)))


def _one_shot(url: str, n: int) -> "Request":
    return {"target": f"{url}/once/{n}", "payload": {"n": n}, "delay": timedelta(seconds=1 + 8 * n / ONE_SHOTS)}


async def _arrive(settings: Settings, arrivals: Receiver, supervising: asyncio.Task[None]) -> datetime:
    """Waits until everything is there or patience ends; returns the database's time of that moment."""
    loop = asyncio.get_running_loop()
    end = loop.time() + 45
    while loop.time() < end and not _complete(arrivals):
        if supervising.done():
            raise PgschedError("the demo was stopped before everything had arrived")
        await asyncio.sleep(0.1)
    return await asyncio.to_thread(_finish, settings)


def _finish(settings: Settings) -> datetime:
    with transaction(settings.database_url or "") as connection:
        row = connection.execute(statement("core/clock")).fetchone()
        ends = {"action": "cancel_jobs", "filter": '{"client": "default"}'}
        connection.execute(verbs.bulk.text(*ends), ends)
    assert row is not None
    moment: datetime = row[0]
    return moment - timedelta(milliseconds=500)


def _complete(arrivals: Receiver) -> bool:
    return len(arrivals.numbers) == ONE_SHOTS and all(arrivals.arrived(name) >= _FEWEST for name in _JOBS)


async def _show(arrivals: Receiver, reply: Reply) -> None:
    """Redraws the table on a terminal; elsewhere, writes a line a second."""
    live = sys.stderr.isatty()
    drawn = 0
    while True:
        if live:
            text = arrivals.rows(_expected())
            reply.redraw(text, over=drawn)
            drawn = text.count("\n") + 1
        else:
            late = arrivals.lateness("once")
            counts = ", ".join(f"{what} {arrivals.arrived(name)}" for name, what in _expected().items())
            reply.note(f"{counts}; p99 {late['p99_ms']:.1f} ms late" if late else counts)
        await asyncio.sleep(0.2 if live else 1)


def _judge(arrivals: Receiver, until: datetime) -> Answer:
    missing = {name: len(arrivals.missing(name, every, until=until)) for name, (_, _, every) in _JOBS.items()}
    missing["once"] = ONE_SHOTS - len(arrivals.numbers)
    ok = not any(missing.values())
    found = {
        name: {"arrived": arrivals.arrived(name), "missing": missing[name], **arrivals.lateness(name)}
        for name in _expected()
    }
    ending = "everything arrived" if ok else f"did not arrive: {missing}"
    return Answer({"ok": ok, "arrivals": found}, f"{arrivals.rows(_expected())}\n\n{ending}")


def _expected() -> dict[str, str]:
    return {"once": "one-shots"} | {name: f"{kind} {spec}" for name, (kind, spec, _) in _JOBS.items()}


def _warnings_to(reply: Reply) -> Any:
    def report(line: str) -> None:
        if " INFO " not in line and not line.startswith("stopping"):
            reply.note(line)

    return report
