"""The stories of each table in docs/reference/schedules.md, and the text of its cells."""

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from types import ModuleType

from tests.docs.fences import ROOT
from tests.store.schedule.cells import misses, overlaps, situations
from tests.store.schedule.cells.rows import CLOCKS, MISSED, OVERLAP, SPECS, Row
from tests.store.schedule.cells.stage import Stage

Story = Callable[[Stage, Row], Awaitable[str]]
PAGE = ROOT / "docs" / "reference" / "schedules.md"


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table of the page, named by the heading of its first column."""

    rows: dict[str, Row]
    stories: dict[str, Story]


_COLUMNS = (
    "normal",
    "late by seconds",
    "down for a day",
    "clock forward",
    "clock back",
    "paused over the instant",
    "edited before the instant",
    "deleted while running",
)


def _stories(*modules: ModuleType) -> dict[str, Story]:
    """The story of each column, from the first module that has it."""
    found: dict[str, Story] = {}
    for column in _COLUMNS:
        name = column.replace(" ", "_")
        found[column] = next(getattr(module, name) for module in modules if hasattr(module, name))
    return found


TABLES = {
    "schedule": Table(rows=SPECS, stories=_stories(situations)),
    "clock policy": Table(rows=CLOCKS, stories=_stories(situations)),
    "`on_overlap`": Table(rows=OVERLAP, stories=_stories(overlaps)),
    "`on_missed`": Table(rows=MISSED, stories=_stories(misses, situations)),
}


def cells_of(text: str) -> dict[tuple[str, str, str], str]:
    """The cells of the page's tables whose columns are the situations, by table, row and column."""
    found: dict[tuple[str, str, str], str] = {}
    columns: list[str] = []
    for line in text.splitlines():
        words = [word.strip() for word in re.split(r"(?<!\\)\|", line)[1:-1]]
        if not words:
            columns = []
        elif not columns:
            columns = words
        elif columns[1:] == list(_COLUMNS) and not set(line) <= set("|-: "):
            found |= {(columns[0], words[0], name): word for name, word in zip(columns[1:], words[1:], strict=True)}
    return found
