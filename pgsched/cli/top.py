"""``pgsched top``: what is due, running and late at this moment, on a terminal, again and again."""

import asyncio
import io
import os
import sys
import termios
import tty
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from importlib import import_module
from typing import Any

import click
import psycopg

from pgsched.cli.asking import api_option, refuse_api
from pgsched.cli.configuration import DATABASE, load_settings, settings_options, with_database
from pgsched.cli.database import explained
from pgsched.cli.parameters import Number
from pgsched.cli.reply import Reply, json_option
from pgsched.cli.top_view import SORTS, View
from pgsched.extras import extra
from pgsched.store.core.pinned import DOCTOR_LOCALLY
from pgsched.store.core.transactions import Lend, lending
from pgsched.store.lookup.now import Now, look
from pgsched.store.lookup.now_lines import Shown


@click.command()
@api_option(hidden=True)
@settings_options(DATABASE)
@click.option("--once", is_flag=True, help="Print one frame and exit; the default if the output is not a terminal.")
@click.option(
    "--every",
    type=Number(0.5, 60),
    default=2,
    show_default=True,
    metavar="SECONDS",
    help="Refresh interval.",
)
@click.option("--sort", type=click.Choice(SORTS), default=SORTS[0], show_default=True, help="Sort order.")
@click.option("--filter", default="", metavar="TEXT", help="Only queues, clients and workers whose name contains this.")
@json_option
@click.pass_obj
def top(reply: Reply, /, api: str | None, once: bool, every: float, sort: str, filter: str, **flags: Any) -> None:
    """Watch what is due, running and late, by queue, client and worker.

    Reads at most the 4,000 oldest rows of each queue. A single frame takes two samples, a second apart, for rates.
    """
    refuse_api("pgsched top", api)
    url = with_database(load_settings(flags)).database_url or ""
    view = View(sort=sort, filter=filter[:40])
    if not reply.as_json:
        with extra("server", by="pgsched top"):
            import_module("pgsched.cli.top_frame")
    if once or reply.as_json or not (sys.stdin.isatty() and sys.stdout.isatty()):
        with explained():
            now, shown = asyncio.run(_twice(url, view))
        reply.give(asdict(shown), "" if reply.as_json else _as_text(now, shown, view))
        return
    with _keys_at_once(sys.stdin.fileno()):
        asyncio.run(_Screen(url, view, every).run())


async def _twice(url: str, view: View) -> tuple[Now, Shown]:
    async with lending(url) as lend:
        before = await _look(lend)
        await asyncio.sleep(1)
        now = await _look(lend)
    return now, view.of(now, before)


async def _look(lend: Lend) -> Now:
    async with lend() as connection:
        await connection.execute(DOCTOR_LOCALLY)
        return await look(connection)


class _Screen:
    """Frames on a terminal until a key ends it. While the database is away the last one stays, with the reason."""

    def __init__(self, url: str, view: View, every: float) -> None:
        from rich.live import Live

        self._url, self._view, self._every = url, view, every
        self._live = Live(screen=True, auto_refresh=False)
        self._now: Now | None = None
        self._before: Now | None = None
        self._fault = ""
        self._pressed = asyncio.Event()

    async def run(self) -> None:
        descriptor, loop = sys.stdin.fileno(), asyncio.get_running_loop()
        loop.add_reader(descriptor, self._read, descriptor)
        try:
            with self._live:
                async with lending(self._url) as lend, asyncio.TaskGroup() as tasks:
                    looking = tasks.create_task(self._look_again_and_again(lend))
                    while not self._view.done:
                        await self._pressed.wait()
                        self._pressed.clear()
                        self._draw()
                    looking.cancel()
        finally:
            loop.remove_reader(descriptor)

    async def _look_again_and_again(self, lend: Lend) -> None:
        while True:
            if not self._view.paused:
                await self._look_once(lend)
                self._draw()
            await asyncio.sleep(self._every)

    async def _look_once(self, lend: Lend) -> None:
        try:
            found = await _look(lend)
        except (psycopg.Error, OSError) as error:
            self._fault = " ".join(str(error).split())
        else:
            self._now, self._before, self._fault = found, self._now, ""

    def _read(self, descriptor: int) -> None:
        typed = os.read(descriptor, 64).decode(errors="ignore")
        if not typed:  # the terminal is gone
            self._view = replace(self._view, done=True)
        for key in typed if len(typed) == 1 or typed[0] != "\x1b" else ():  # arrows and the like are no keys of ours
            self._view = self._view.press(key)
        self._pressed.set()

    def _draw(self) -> None:
        from pgsched.cli.top_frame import frame, waiting

        if self._now is None:
            self._live.update(waiting(self._fault), refresh=True)
            return
        shown = self._view.of(self._now, self._before)
        room = self._live.console.size.height
        self._live.update(frame(self._now, shown, self._view, room=room, fault=self._fault), refresh=True)


@contextmanager
def _keys_at_once(descriptor: int) -> Iterator[None]:
    """Keys are read as they are typed, and not shown."""
    before = termios.tcgetattr(descriptor)
    tty.setcbreak(descriptor)
    try:
        yield
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)


def _as_text(now: Now, shown: Shown, view: View) -> str:
    from rich.console import Console

    from pgsched.cli.top_frame import frame

    console = Console(file=io.StringIO(), width=120, color_system=None)
    with console.capture() as captured:
        console.print(frame(now, shown, view, room=1_000))
    return "\n".join(line.rstrip() for line in captured.get().rstrip().split("\n"))
