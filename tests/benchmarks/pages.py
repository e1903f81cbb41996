"""Measures how long the API takes for each page of the dashboard, with many executions and under load."""

import statistics
import tempfile
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import httpx
import psycopg

from pgsched.api.app import create_app
from pgsched.api.pages.session import COOKIE
from pgsched.bench.database import fresh_database
from pgsched.bench.processes import CONTEXT
from pgsched.bench.seed_rows import Progress
from pgsched.cli.bench import COUNT, on_server, progress, tell
from pgsched.settings import Settings
from tests.api.access_arrange import make_key, things_of_shop
from tests.api.page_arrange import pages_of
from tests.api.page_load import delivered
from tests.benchmarks.requests import api_of
from tests.node.running import browsed
from tests.store.lookup.lookup_arrange import act_as_client, fill, make_days
from tests.store.store_arrange import call

_LONGEST_MS = 200
_SHOWN = (200, 404, 409)  # some pages are for failed executions, others for waiting ones
_MORE = (
    "/?span=6h",
    "/?span=24h",
    "/now/past?span=24h",
    "/executions?client=big",
    "/executions?client=rare",
    "/executions?client=nobody",
    "/executions?status=failed",
    "/executions?status=running",
    "/executions?host=shop.example",
    "/executions?host=nowhere.example",
    "/executions?key=k1000",
    "/executions?label=team%3Dt3",
    "/executions?label=team%3Dnobody",
    "/executions?from=2020-01-01T00:00:00Z",
    "/jobs?client=big",
    "/jobs?key=j1000",
    "/jobs?job_state=invalid",
    "/jobs?label=team%3Dt3",
    "/jobs?host=shop.example",
    "/jobs/week?client=big",
    "/dead-letters?client=big",
    "/dead-letters?client=nobody",
    "/dead-letters?reason=503",
    "/dead-letters?reason=nothing",
    "/dead-letters?letter_state=all",
    "/audit?by=nobody",
    "/client?name=big",
    "/clients?start=c3",
)
_TICK = "select pgsched.schedule('notify:tick', client => 'live', queue => 'live') from generate_series(1, {many})"
_ROUND = 0.1  # seconds
_PROCESSES = 3
_STARTING = 1.0  # seconds in which an API that already answers compiles its templates


@dataclass(frozen=True, slots=True, kw_only=True)
class _Times:
    """Milliseconds to the last byte of a page: the median of the first request over several processes, and the median
    and the longest of later requests."""

    cold: float
    median: float
    longest: float

    def __str__(self) -> str:
        return f"cold {self.cold:.0f}, then {self.median:.0f}, at the longest {self.longest:.0f}"


def run_pages(
    url: str | None,
    *,
    count: int,
    rate: int,
    rounds: int,
    pictures: str | None = None,
    progress: Progress = lambda _: None,
) -> dict[str, Any]:
    """Returns how long each page takes, by path: for the first request, in newly started APIs, and for later ones.
    ``slow`` lists the pages over 200 ms in either; ``slowest`` is the slowest page. With ``pictures``, a browser takes
    a picture of each page into that directory, and ``found`` lists the problems it saw."""
    CONTEXT.set_forkserver_preload(["pgsched.api.server", "tests.benchmarks.requests"])  # there will be many processes
    with fresh_database(url) as own, psycopg.connect(own, autocommit=True) as db:
        started = time.monotonic()
        things = _filled(db, count)
        progress(f"{count} executions stand after {time.monotonic() - started:.0f} s")
        key, paths = str(make_key(db)), _paths(own, things)
        with _living(own, rate):
            measured = {path: _measured(own, key, path, rounds) for path in paths}
            found = {} if pictures is None else {"found": _pictured(own, key, paths, things, pictures)}
        settled = db.execute("select count(*) from pgsched.history where client_id = 'live'").fetchone()
    slow = [path for path, took in measured.items() if max(took.cold, took.median) > _LONGEST_MS]
    slowest = {
        "cold": max(measured, key=lambda path: measured[path].cold),
        "warm": max(measured, key=lambda path: measured[path].median),
    }
    told = {f"slowest_{name}": f"{path}: {measured[path]}" for name, path in slowest.items()}
    times = {path: str(took) for path, took in measured.items()}
    return {"count": count, "rate": rate, "delivered": settled and settled[0], "slow": slow} | found | told | times


def _filled(db: psycopg.Connection[Any], count: int) -> dict[str, list[str]]:
    make_days(db)
    act_as_client(db)
    fill(db, behind=0, up_to=count, all_rows=count)
    db.execute("set pgsched.notify = on")
    call(db, "create_queue", name="orders")
    call(db, "create_queue", name="live")
    return things_of_shop(db)


def _paths(url: str, things: dict[str, list[str]]) -> Sequence[str]:
    """Returns the path of every page, and some with filters."""
    app = create_app(Settings(database_url=url))
    own = [next(one.paths(things)) for one in pages_of(app) if one.method == "GET"]
    return [*own, *_MORE]


def _measured(url: str, key: str, path: str, rounds: int) -> _Times:
    """Measures in newly started APIs, which have received no other request than one for an icon, a second after their
    start."""
    cold, warm = zip(*(_of_a_process(url, key, path, rounds) for _ in range(_PROCESSES)), strict=True)
    took = [one for of_one in warm for one in of_one]
    return _Times(cold=statistics.median(cold), median=statistics.median(took), longest=max(took))


def _of_a_process(url: str, key: str, path: str, rounds: int) -> tuple[float, list[float]]:
    with api_of(url) as (address, _), httpx.Client(base_url=address, timeout=60) as browser:
        browser.get("/static/icon.svg")
        time.sleep(_STARTING)
        browser.cookies.set(COOKIE, key)
        return _asked(browser, path), [_asked(browser, path) for _ in range(rounds)]


def _asked(browser: httpx.Client, path: str) -> float:
    started = time.monotonic()
    answer = browser.get(path)
    took = (time.monotonic() - started) * 1000
    if answer.status_code not in _SHOWN:
        raise AssertionError(f"{path} returned {answer.status_code}: {answer.text[-300:]}")
    return took


def _pictured(url: str, key: str, paths: Sequence[str], things: dict[str, list[str]], pictures: str) -> list[str]:
    Path(pictures).mkdir(parents=True, exist_ok=True)
    with api_of(url) as (address, _), tempfile.TemporaryDirectory() as directory:
        written = Path(directory, "key")
        written.write_text(f"Authorization: Bearer {key}\n")
        told: list[str] = browsed(address, written, paths, things, pictures)["found"]
    return told


def _living(url: str, rate: int) -> AbstractContextManager[None]:
    """Keeps ``rate`` executions a second falling due and being delivered."""
    return delivered(url, queues="live", every=_ROUND, statement=_TICK.format(many=round(rate * _ROUND)))


@click.command()
@click.option("--count", default=1_000_000, show_default=True, type=COUNT, help="Number of executions.")
@click.option("--rate", default=200, show_default=True, type=COUNT, help="Executions delivered per second meanwhile.")
@click.option(
    "--rounds", default=5, show_default=True, type=COUNT, help="Repeated requests for each page in each process."
)
@click.option(
    "--pictures", type=click.Path(file_okay=False), help="Also save a picture of each page in this directory."
)
@on_server
def pages(database_url: str | None, as_json: bool, **asked: Any) -> None:
    """Request each dashboard page among many executions, and report how long its first and later requests take."""
    tell(run_pages(database_url, progress=progress, **asked), as_json)


if __name__ == "__main__":
    pages()
