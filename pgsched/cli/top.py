"""``pgsched top``: shows what is due, running and late, once or continuously."""

import asyncio
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

import click
import psycopg

from pgsched.cli.api_or_database import api_option, refuse_api
from pgsched.cli.database_connection import explained
from pgsched.cli.parameters import Number
from pgsched.cli.reply import Reply, json_option, table
from pgsched.cli.settings_flags import DATABASE, load_settings, settings_options, with_database
from pgsched.password_hiding import without_passwords
from pgsched.store.core.new_connection import Lend, lending
from pgsched.store.core.session_settings import DOCTOR_LOCALLY
from pgsched.store.lookup.now import Edge, Now, look
from pgsched.store.lookup.now_lines import Shown, WorkerLine, lines_of
from pgsched.telemetry import printable

_KEYS: dict[str, Callable[[Edge], float]] = {
    "late": lambda edge: -(edge.oldest_due or 0.0),
    "due": lambda edge: -edge.due,
    "in hand": lambda edge: -edge.in_hand,
    "name": lambda edge: 0,
}
_QUEUES = ("queue", "due", "in hand", "late", "new/s", "ended/s", "")
_WORKERS = ("worker", "id", "in hand", "concurrency", "longest", "queues")
_CLIENTS = ("client", "due", "in hand", "late")
_GATES = ("held back by", "held", "")
_AROUND = 3
"""Number of lines in a table besides its rows: a blank line, the headings, and the count of hidden rows."""


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
@click.option("--sort", type=click.Choice([*_KEYS]), default="late", show_default=True, help="Sort order.")
@click.option("--filter", default="", metavar="TEXT", help="Only queues, clients and workers whose name contains this.")
@json_option
@click.pass_obj
def top(reply: Reply, /, api: str | None, once: bool, every: float, sort: str, filter: str, **flags: Any) -> None:
    """Watch what is due, running and late, by queue, client and worker, until Ctrl-C.

    Reads at most the 4,000 oldest rows of each queue. For a single frame, takes two samples a second apart to calculate
    rates.
    """
    refuse_api("pgsched top", api)
    url = with_database(load_settings(flags)).database_url or ""
    if not once and not reply.as_json and sys.stdout.isatty():
        with _screen():
            asyncio.run(_watch(url, every, sort, filter))
    with explained():
        now, shown = asyncio.run(_twice(url, sort, filter))
    reply.give(asdict(shown), frame(now, shown))


async def _twice(url: str, sort: str, filter: str) -> tuple[Now, Shown]:
    async with lending(url) as lend:
        before = await _look(lend)
        await asyncio.sleep(1)
        now = await _look(lend)
    return now, ordered(lines_of(now, before), sort, filter)


async def _watch(url: str, every: float, sort: str, filter: str) -> None:
    """Draws frames until interrupted. While the database is unavailable, the last frame stays, with the reason."""
    before, text = None, ""
    async with lending(url) as lend:
        while True:
            fault = ""
            try:
                now = await _look(lend)
            except (psycopg.Error, OSError) as error:
                fault = f"cannot read the database: {printable(without_passwords(' '.join(str(error).split())))}"
            else:
                room = shutil.get_terminal_size().lines - 1
                text, before = frame(now, ordered(lines_of(now, before), sort, filter), room=room), now
            _draw([*text.split("\n"), *([fault] if fault else [])])
            await asyncio.sleep(every)


async def _look(lend: Lend) -> Now:
    async with lend() as connection:
        await connection.execute(DOCTOR_LOCALLY)
        return await look(connection)


@contextmanager
def _screen() -> Iterator[None]:
    """Uses the terminal's alternate screen, so that the previous contents are restored afterwards."""
    click.echo("\x1b[?1049h", nl=False)
    try:
        yield
    finally:
        click.echo("\x1b[?1049l", nl=False)


def _draw(lines: Sequence[str]) -> None:
    """Overwrites the screen line by line, to avoid flicker."""
    columns, rows = shutil.get_terminal_size()
    shown = "\n".join(f"{line[:columns]}\x1b[K" for line in lines[-rows:])
    click.echo(f"\x1b[H{shown}\x1b[J", nl=False)


def ordered(found: Shown, sort: str, filter: str) -> Shown:
    """Filters the lines by name, and sorts them by ``sort``, then by name. Leaves gates unchanged."""

    def arranged(lines: Sequence[Any], name: Callable[[Any], str], edge: Callable[[Any], Edge]) -> list[Any]:
        kept = [line for line in lines if filter.lower() in name(line).lower()]
        return sorted(kept, key=lambda line: (_KEYS[sort](edge(line)), name(line)))

    return Shown(
        queues=arranged(found.queues, lambda line: line.name, lambda line: line.edge),
        clients=arranged(found.clients, lambda edge: edge.client or "", lambda edge: edge),
        workers=arranged(found.workers, lambda line: line.worker.name, lambda line: line.edge),
        gates=found.gates,
    )


def frame(now: Now, shown: Shown, *, room: int | None = None) -> str:
    """Formats a summary and four tables, which share ``room`` lines. Each table says how many rows are hidden."""
    tables: list[tuple[Sequence[str], list[list[object]]]] = [
        (
            _QUEUES,
            [[*_named(one.name, one.edge), *_rates(one.scheduled, one.ended), one.stall or ""] for one in shown.queues],
        ),
        (_WORKERS, [_worker(line) for line in shown.workers]),
        (_CLIENTS, [_named(edge.client or "", edge) for edge in shown.clients]),
        (_GATES, [[line.name, _count(line.held, line.more), line.state or ""] for line in shown.gates]),
    ]
    wanted = [len(rows) for _, rows in tables]
    given = wanted if room is None else share(wanted, room - 1 - _AROUND * sum(map(bool, wanted)))
    parts = [_summary(now)]
    for (columns, rows), most in zip(tables, given, strict=True):
        if rows:
            left_out = f"\n  … and {len(rows) - most} more" if len(rows) > most else ""
            parts.append(table(columns, rows[:most]) + left_out)
    return "\n\n".join(parts)


def share(wanted: Sequence[int], room: int) -> list[int]:
    """Divides ``room`` lines among tables by max-min fairness: lines that a short table does not need go to others."""
    given = [0] * len(wanted)
    while room > 0 and (hungry := [place for place, count in enumerate(wanted) if given[place] < count]):
        for place in hungry[:room]:
            given[place] += 1
        room -= min(room, len(hungry))
    return given


def _summary(now: Now) -> str:
    queues = [edge for edge in now.edges if edge.queue is not None]
    more = "+" if any(edge.cut for edge in queues) else ""
    oldest = max((edge.oldest_due or 0.0 for edge in queues), default=0.0)
    counts = f"{sum(edge.due for edge in queues):,}{more} due  {sum(edge.in_hand for edge in queues):,}{more} in hand"
    late = f"{_ago(oldest)} late" if oldest else "nothing late"
    return f"pgsched  {counts}  {late}  {len(now.workers)} worker{'s' if len(now.workers) != 1 else ''}"


def _worker(line: WorkerLine) -> list[object]:
    worker, edge = line.worker, line.edge
    longest = _ago(edge.oldest_in_hand) if edge.in_hand else ""
    at_once = f"{worker.concurrency:,}"
    return [worker.name, worker.id, _count(edge.in_hand, edge.cut), at_once, longest, ",".join(worker.queues)]


def _named(name: str, edge: Edge) -> list[object]:
    late = _ago(edge.oldest_due) if edge.oldest_due else ""
    return [name, _count(edge.due, edge.cut), _count(edge.in_hand, edge.cut), late]


def _count(number: int, is_cut: bool) -> str:
    return f"{number:,}{'+' if is_cut else ''}" if number else "0"


def _rates(*numbers: float | None) -> list[str]:
    return ["" if number is None else f"{number:,.0f}" if number >= 10 else f"{number:.1f}" for number in numbers]


def _ago(seconds: float | None) -> str:
    if seconds is None or seconds < 0:
        return "0 s"
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.1f} s"
