"""A plain execution visits the modules that the page on the architecture lists, and no others."""

import asyncio
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import pgsched
from pgsched.delivery.python import App
from pgsched.scheduler import Worker
from tests.worker.conftest import Connection, Running, until_history

PACKAGE = Path(pgsched.__file__).parent
PAGE = PACKAGE.parent / "docs" / "explanation" / "architecture.md"
DUE = "select pgsched.schedule('python:do', fire_at => now() - interval '1 second')"
TIMES = 4
"""What happens beside one of several executions, such as a turn of the upkeep, happens beside none of the others."""


def listed() -> set[str]:
    walk = PAGE.read_text(encoding="utf-8").partition("## The walk of one row")[2].partition("\n## ")[0]
    return set(re.findall(r"^[0-9]+\. `(\S+\.py)`", walk, re.MULTILINE))


@contextmanager
def visited(is_on_the_way: Callable[[asyncio.Task[Any] | None], bool]) -> Iterator[set[str]]:
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


def on_the_way(worker: Worker) -> Callable[[asyncio.Task[Any] | None], bool]:
    """Whether a task is the listener's, the claimer's, the settler's or a lane's; callbacks of the loop have none."""
    named = dict(zip((service.name for service in worker.services), worker._tasks, strict=True))
    tasks = {
        named["listener"],
        named["claimer"],
        worker._settling,
        *(lane.task for lane in worker.parts.dispatcher._lanes),
    }
    return lambda task: task is None or task in tasks


async def test_a_plain_execution_visits_the_modules_that_the_page_lists(running: Running, db: Connection) -> None:
    app = App()

    @app.handler("do")
    async def do() -> None: ...

    async with running(app, poll_interval=30.0) as worker:
        await db.execute(DUE)
        await until_history(db, 1)
        walks = []
        for count in range(2, 2 + TIMES):
            with visited(on_the_way(worker)) as found:
                await db.execute(DUE)
                await until_history(db, count)
            walks.append(found)
    assert set.intersection(*walks) == listed()
