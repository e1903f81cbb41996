"""Records which modules of the package a code path visits, to compare with the lists on the architecture page."""

import asyncio
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import pgsched

PACKAGE = Path(pgsched.__file__).parent
PAGE = PACKAGE.parent / "docs" / "explanation" / "architecture.md"
TIMES = 4
"""Modules that run beside any of several paths, such as a turn of the upkeep, belong to none of them."""


def listed(heading: str, item: str = r"[0-9]+\.") -> set[str]:
    """Returns the modules in the lists beneath a heading of the page, by their item marker."""
    walk = PAGE.read_text(encoding="utf-8").partition(f"## {heading}\n")[2].partition("\n## ")[0]
    return set(re.findall(rf"^{item} `(\S+\.py)`", walk, re.MULTILINE))


@contextmanager
def visited(is_on_the_way: Callable[[asyncio.Task[Any] | None], bool] = lambda _: True) -> Iterator[set[str]]:
    """Yields the modules of the package in which the selected tasks call functions within the block."""
    found: set[str] = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        path = Path(frame.f_code.co_filename)
        if event == "call" and path.is_relative_to(PACKAGE) and is_on_the_way(_current_task()):
            found.add(path.relative_to(PACKAGE).as_posix())

    sys.setprofile(note)
    try:
        yield found
    finally:
        sys.setprofile(None)


def _current_task() -> asyncio.Task[Any] | None:
    try:
        return asyncio.current_task()
    except RuntimeError:
        return None
