"""Which modules of the package are visited on a way that the page on the architecture lists."""

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
"""What happens beside one of several, such as a turn of the upkeep, happens beside none of the others."""


def listed(heading: str, item: str = r"[0-9]+\.") -> set[str]:
    """The modules in the lists beneath a heading of the page, by the mark of an item."""
    walk = PAGE.read_text(encoding="utf-8").partition(f"## {heading}\n")[2].partition("\n## ")[0]
    return set(re.findall(rf"^{item} `(\S+\.py)`", walk, re.MULTILINE))


@contextmanager
def visited(is_on_the_way: Callable[[asyncio.Task[Any] | None], bool] = lambda _: True) -> Iterator[set[str]]:
    """The modules of the package in which these tasks call functions within the block."""
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
