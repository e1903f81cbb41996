"""How long the API takes for each page of the dashboard, among many executions and while others are delivered."""

import statistics
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

import click
import httpx
import psycopg

from pgsched.api.app import create_app
from pgsched.api.pages.session import COOKIE
from pgsched.bench.ground import ground
from pgsched.bench.load import Progress
from pgsched.cli.bench import COUNT, on_server, progress, tell
from pgsched.settings import Settings
from tests.api.access_arrange import make_key, things_of_shop
from tests.api.page_arrange import pages_of
from tests.api.page_load import delivered
from tests.benchmarks.requests import api_of
from tests.store.lookup.lookup_arrange import act_as_client, fill, make_days
from tests.store.store_arrange import call

_LONGEST_MS = 200
_SHOWN = (200, 404, 409)  # some pages are for what has failed, others for what waits
_MORE = (
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
    "/client?name=big",
    "/clients?start=c3",
)
_TICK = "select pgsched.schedule('notify:tick', client => 'live', queue => 'live') from generate_series(1, {many})"
_ROUND = 0.1  # seconds


def run_pages(
    url: str | None, *, count: int, rate: int, rounds: int, progress: Progress = lambda _: None
) -> dict[str, Any]:
    """The median and the longest time of each page in milliseconds, by its address, to the last byte of the answer;
    and those pages whose median is over 200 ms, as ``slow``."""
    with ground(url) as own, psycopg.connect(own, autocommit=True) as db:
        started = time.monotonic()
        things = _filled(db, count)
        progress(f"{count} executions stand after {time.monotonic() - started:.0f} s")
        paths = _paths(own, things)
        with api_of(own) as (address, _), _living(own, rate), httpx.Client(base_url=address, timeout=60) as browser:
            browser.cookies.set(COOKIE, str(make_key(db)))
            measured = {path: _measured(browser, path, rounds) for path in paths}
        settled = db.execute("select count(*) from pgsched.history where client_id = 'live'").fetchone()
    slow = [path for path, (median, _) in measured.items() if median > _LONGEST_MS]
    times = {path: f"{median:.0f}, at the longest {longest:.0f}" for path, (median, longest) in measured.items()}
    return {"count": count, "rate": rate, "delivered": settled and settled[0], "slow": slow} | times


def _filled(db: psycopg.Connection[Any], count: int) -> dict[str, list[str]]:
    make_days(db)
    act_as_client(db)
    fill(db, behind=0, up_to=count, all_rows=count)
    db.execute("set pgsched.notify = on")
    call(db, "create_queue", name="orders")
    call(db, "create_queue", name="live")
    return things_of_shop(db)


def _paths(url: str, things: dict[str, list[str]]) -> Sequence[str]:
    """Every page that there is, and some with filters."""
    app = create_app(Settings(database_url=url))
    own = [next(one.paths(things)) for one in pages_of(app) if one.method == "GET"]
    return [*own, *_MORE]


def _measured(browser: httpx.Client, path: str, rounds: int) -> tuple[float, float]:
    """The median and the longest."""
    took = []
    for _ in range(rounds + 1):
        started = time.monotonic()
        answer = browser.get(path)
        took.append((time.monotonic() - started) * 1000)
        if answer.status_code not in _SHOWN:
            raise AssertionError(f"{path} is answered with {answer.status_code}: {answer.text[-300:]}")
    return statistics.median(took[1:]), max(took[1:])


def _living(url: str, rate: int) -> AbstractContextManager[None]:
    """So many executions a second fall due and are delivered meanwhile."""
    return delivered(url, queues="live", every=_ROUND, statement=_TICK.format(many=round(rate * _ROUND)))


@click.command()
@click.option("--count", default=1_000_000, show_default=True, type=COUNT, help="How many executions there are.")
@click.option("--rate", default=200, show_default=True, type=COUNT, help="How many more are delivered each second.")
@click.option("--rounds", default=5, show_default=True, type=COUNT, help="How often each page is asked for.")
@on_server
def pages(database_url: str | None, as_json: bool, **asked: Any) -> None:
    """Ask for each page of the dashboard among many executions, and tell how long it takes."""
    tell(run_pages(database_url, progress=progress, **asked), as_json)


if __name__ == "__main__":
    pages()
