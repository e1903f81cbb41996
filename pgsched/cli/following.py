"""How far a change of many is, again and again until it has ended: as a bar on a terminal, as lines elsewhere."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from uuid import UUID

import click

from pgsched.cli.answers import Answer
from pgsched.cli.database import ask
from pgsched.cli.reply import Reply
from pgsched.errors import Conflict
from pgsched.settings import Settings
from pgsched.store.ends.bulk_changes import BulkChange, get_bulk_change

Look = Callable[[], BulkChange]
Draw = Callable[[BulkChange], None]
_APART, _LINES_APART = 0.5, 5.0  # seconds

watch_option = click.option("--watch", is_flag=True, help="Follow it until it has ended, on standard error.")


def then_followed(answer: Answer, settings: Settings, id: UUID | None, total: int | None = None) -> Answer:
    """The answer, after which the change is followed; there is none after a dry run."""
    if id is None:
        return answer

    def look() -> BulkChange:
        return ask(settings, lambda connection: get_bulk_change(connection, id))

    return Answer(answer.value, answer.text, answer.note, then=partial(follow, look, total))


def follow(look: Look, total: int | None, reply: Reply, pause: Callable[[float], None] = time.sleep) -> None:
    """Shows what is looked up until it has ended. Ending this does not end it. Raises Conflict if somebody ends it."""
    found = look()
    with _drawing(reply, total) as draw:
        draw(found)
        while found.state == "active":
            pause(_APART)
            found = look()
            draw(found)
    if found.state != "finished":
        why = found.reason or "somebody stopped it"
        raise Conflict(f"the change {found.id} was ended before it was done: {why}")
    reply.note(_line(found, None))


@contextmanager
def _drawing(reply: Reply, total: int | None) -> Iterator[Draw]:
    if not sys.stderr.isatty():
        yield _Lines(reply, total).draw
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=total)
        yield lambda found: progress.update(task, completed=found.changed + found.passed_over, description=found.verb)


class _Lines:
    """A line where something has changed, and not more often than every few seconds."""

    def __init__(self, reply: Reply, total: int | None) -> None:
        self._reply, self._total = reply, total
        self._shown: tuple[int, int, str | None] | None = None
        self._at = -_LINES_APART

    def draw(self, found: BulkChange) -> None:
        now, known = time.monotonic(), (found.changed, found.passed_over, found.reason)
        if found.state == "active" and known != self._shown and now - self._at >= _LINES_APART:
            self._shown, self._at = known, now
            self._reply.note(_line(found, self._total))


def _line(found: BulkChange, total: int | None) -> str:
    done = found.changed + found.passed_over
    part = f", {min(100 * done // total, 100)} %" if total else ""
    reason = f", {found.reason}" if found.reason else ""
    return f"{found.verb}: {found.changed} changed, {found.passed_over} passed over{part}{reason}"
