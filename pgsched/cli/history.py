"""``pgsched admin history``: archives days of history before they are dropped, and repairs missing days."""

import asyncio
import gzip
import os
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import click

from pgsched.cli.answer_tables import Answer
from pgsched.cli.command_decorators import database_command
from pgsched.cli.command_group import CommandGroup
from pgsched.cli.options import actor_option
from pgsched.cli.reply import table
from pgsched.own_files import make_directory, open_own
from pgsched.settings import Settings
from pgsched.store import internal_verbs
from pgsched.store.admin import archive as store
from pgsched.store.core.new_connection import Lend, lending

history = CommandGroup("history")

_STEPS: dict[internal_verbs.Step, str] = {
    "adopted": "created the missing tables",
    "none": "no tables are missing",
    "apart": "the days without a table are not contiguous, or the tables of today and tomorrow do not exist yet",
    "busy": "the table is in constant use: run this again later",
    "going on": "not finished yet: run this again",
}


@database_command(history, with_settings=True)
@click.argument("directory", type=click.Path(path_type=Path, file_okay=False))
@click.option(
    "--most",
    type=click.IntRange(1, 10_000),
    default=100,
    show_default=True,
    help="Maximum number of days to write in one run.",
)
@actor_option
async def archive(connection: Any, settings: Settings, directory: Path, most: int, actor: str | None) -> Answer:
    """Archive days past their retention as compressed CSV files in DIRECTORY, so that workers may drop them.

    Each day is written to two files: its executions and their failed attempts. Existing files are replaced. Only the
    user who runs the command may read the files.
    """
    found = (await internal_verbs.days_to_archive(connection))[:most]
    await connection.commit()
    make_directory(directory, "another directory")
    written: list[dict[str, Any]] = []
    async with lending(settings.database_url or "") as lend:
        for day in found:
            for parent in store.PARENTS:
                file = directory / f"{parent}_{day:%Y%m%d}.csv.gz"
                await _write(lend, parent, day, file)
                written.append({"day": day, "file": str(file), "bytes": file.stat().st_size})
            async with lend() as marking:
                await internal_verbs.mark_archived(marking, day, actor=actor)
    lines = [[one["day"], one["file"], one["bytes"]] for one in written]
    return Answer({"items": written}, table(("day", "file", "bytes"), lines) if lines else "no days to archive")


@database_command(history)
@click.argument("first", metavar="DAY", type=click.DateTime(["%Y-%m-%d"]))
@click.argument("last", metavar="[LAST]", required=False, type=click.DateTime(["%Y-%m-%d"]))
@actor_option
async def mark(connection: Any, first: datetime, last: datetime | None, actor: str | None) -> Answer:
    """Mark days that you have archived in another way, so that workers may drop them."""
    if last and last < first:
        raise click.UsageError("LAST is before DAY: write the earlier day first")
    days = [first.date() + timedelta(n) for n in range(((last or first) - first).days + 1)]
    marked = [day for day in days if await internal_verbs.mark_archived(connection, day, actor=actor)]
    return Answer({"marked": marked}, f"{len(marked)} marked" if marked else "already marked")


@database_command(history, with_settings=True)
async def adopt(connection: Any, settings: Settings) -> Answer:
    """Create tables for days that have none. Workers do the same within an hour.

    The default partition becomes the table of these days. No row is moved, and nothing waits for a lock.
    """
    await connection.commit()
    found: dict[str, internal_verbs.Step] = {}
    async with lending(settings.database_url or "") as lend:
        for parent in store.DAILY:
            found[parent] = await _adopt(lend, parent)
    items = [{"table": parent, "outcome": step} for parent, step in found.items()]
    lines = [[parent, _STEPS[step]] for parent, step in found.items()]
    return Answer({"items": items}, table(("table", "outcome"), lines))


async def _adopt(lend: Lend, parent: str) -> internal_verbs.Step:
    step: internal_verbs.Step = "busy"
    for _ in range(100):
        async with lend() as connection:
            step = await internal_verbs.adopt_strays(connection, parent)
        if step in ("adopted", "none", "apart"):
            break
        await asyncio.sleep(0.05 if step == "busy" else 0)
    return step


async def _write(lend: Lend, parent: store.Parent, day: date, file: Path) -> None:
    """Writes a day's rows to a file that only its owner may read, and that gets its final name once it is on disk."""
    partial = file.with_suffix(".partial")
    with os.fdopen(open_own(partial, empty=True), "wb") as raw:
        async with lend() as connection:
            with gzip.open(raw, "wb", compresslevel=6) as compressed:
                async for piece in store.read(connection, parent, day):
                    compressed.write(piece)
        raw.flush()
        os.fsync(raw.fileno())
    partial.replace(file)
