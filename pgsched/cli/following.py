"""How far a bulk operation is, until it has ended: as a bar on a terminal, as lines elsewhere.

The bar is drawn by rich. Where the extra ``server`` is not installed, a terminal gets lines too.
"""

import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import Any

import click

from pgsched.cli.answers import Answer
from pgsched.cli.asking import Ask
from pgsched.cli.reply import Reply
from pgsched.errors import Conflict

_APART, _LINES_APART = 0.5, 5.0  # seconds

watch_option = click.option("--watch", is_flag=True, help="Show progress on standard error until it ends.")


@dataclass(frozen=True, slots=True)
class Stage:
    """How far something is. ``what`` names it with its id, ``label`` is a word for it. ``done`` of ``total`` (None if
    nobody knows) are behind it, ``text`` tells it in full. ``reason`` is what it waits for, or why it was given up."""

    what: str
    label: str
    state: str
    done: int
    total: int | None
    text: str
    reason: str | None = None

    @property
    def line(self) -> str:
        part = f", {min(100 * self.done // self.total, 100)} %" if self.total and self.state == "active" else ""
        return f"{self.label}: {self.text}{part}{f', {self.reason}' if self.reason else ''}"


Look = Callable[[Any], Awaitable[Stage]]
Draw = Callable[[Stage], None]


def then_followed(answer: Answer, ask: Ask, stage: Look) -> Answer:
    """The answer, after which what it has begun is followed: ``stage`` asks a desk for its progress."""
    return Answer(answer.value, answer.text, answer.note, then=partial(follow, partial(ask, stage)))


def follow(look: Callable[[], Stage], reply: Reply, pause: Callable[[float], None] = time.sleep) -> None:
    """Shows what is looked up until it has ended. Ending this does not end it. Raises Conflict if somebody ends it."""
    found = look()
    with _drawing(reply) as draw:
        draw(found)
        while found.state == "active":
            pause(_APART)
            found = look()
            draw(found)
    if found.state != "finished":
        raise Conflict(f"{found.what} was ended before it was done: {found.reason or 'somebody stopped it'}")
    reply.note(found.line)


@contextmanager
def _drawing(reply: Reply) -> Iterator[Draw]:
    if not sys.stderr.isatty() or find_spec("rich") is None:
        yield _Lines(reply).draw
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=None)
        yield lambda found: progress.update(task, completed=found.done, total=found.total, description=found.label)


class _Lines:
    """A line where something has changed, and not more often than every few seconds."""

    def __init__(self, reply: Reply) -> None:
        self._reply = reply
        self._shown: str | None = None
        self._at = -_LINES_APART

    def draw(self, found: Stage) -> None:
        now = time.monotonic()
        if found.state == "active" and found.line != self._shown and now - self._at >= _LINES_APART:
            self._shown, self._at = found.line, now
            self._reply.note(found.line)
