"""How many one-shots the API takes a second, without a key and with a new one each."""

import http.client
import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from typing import Any
from urllib.parse import urlsplit

import click
import psycopg

from pgsched.api.server import serve
from pgsched.bench.ground import ground
from pgsched.bench.load import Progress, medians
from pgsched.bench.processes import CONTEXT
from pgsched.cli.bench import COUNT, ROUNDS, on_server, progress, tell
from pgsched.settings import Settings

_BODY = {
    "target": "https://shop.example/callback",
    "payload": {"order": 42, "merchant": "abcdefghij"},
    "schedule": {"delay": "PT1H"},
}
_WAYS = ("plain", "keyed")
_WITHIN = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What is asked for in one measurement: by how many callers, for how long, and whether under keys."""

    callers: int
    seconds: float
    prefix: str | None


def run_requests(
    url: str | None,
    *,
    callers: int,
    seconds: float,
    queues: int = 1,
    rounds: int = 1,
    progress: Progress = lambda _: None,
) -> dict[str, Any]:
    """Answered POST /v1/jobs a second, of all callers together, from one API process; both ways take turns.

    Nobody works on what is scheduled. Every answer is one row, by its id. The more ``queues`` there are, the more
    partitions: what looks a key up in all of them takes longer.
    """
    with ground(url) as own, psycopg.connect(own, autocommit=True) as connection, _api(own) as address:
        for number in range(1, queues):
            connection.execute("select pgsched.create_queue(%s)", [f"queue-{number}"])
        _measure(connection, address, Load(callers=callers, seconds=min(seconds, 1), prefix="first"))  # to warm up
        measured = [_round(connection, address, callers, seconds, number, progress) for number in range(rounds)]
    return {"callers": callers, "seconds": seconds, "queues": queues} | medians(measured)


def _round(
    connection: psycopg.Connection[Any], address: str, callers: int, seconds: float, number: int, progress: Progress
) -> dict[str, Any]:
    """Both once; who comes first alternates with the rounds."""
    found: dict[str, Any] = {}
    for way in _WAYS if number % 2 == 0 else reversed(_WAYS):
        prefix = f"round-{number}" if way == "keyed" else None
        found[f"{way}_rate"] = _measure(connection, address, Load(callers=callers, seconds=seconds, prefix=prefix))
    progress(f"plain {found['plain_rate']}/s, keyed {found['keyed_rate']}/s")
    return found | {"ratio": round(found["keyed_rate"] / found["plain_rate"], 3)}


def _measure(connection: psycopg.Connection[Any], address: str, load: Load) -> int:
    started = time.monotonic()
    with ThreadPoolExecutor(load.callers) as threads:
        answered = [*chain.from_iterable(threads.map(lambda n: _call(address, load, n), range(load.callers)))]
    rate = round(len(answered) / (time.monotonic() - started))
    kept = [str(row[0]) for row in connection.execute("select id from pgsched.executions")]
    if sorted(kept) != sorted(answered):
        raise AssertionError(f"{len(answered)} answered, {len(set(answered))} distinct; {len(kept)} kept")
    connection.execute("truncate pgsched.executions")
    return rate


def _call(address: str, load: Load, number: int) -> list[str]:
    """Calls one after another on one connection; the ids that were answered."""
    ids: list[str] = []
    connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=_WITHIN)
    until = time.monotonic() + load.seconds
    while time.monotonic() < until:
        key = {} if load.prefix is None else {"key": f"{load.prefix}-{number}-{len(ids)}"}
        connection.request("POST", "/v1/jobs", json.dumps(_BODY | key), {"Content-Type": "application/json"})
        answer = connection.getresponse()
        body = answer.read()
        if answer.status != http.client.CREATED:
            raise AssertionError(f"the API answered {answer.status}: {body[:200]!r}")
        ids.append(json.loads(body)["id"])
    connection.close()
    return ids


@contextmanager
def _api(url: str) -> Iterator[str]:
    """The address of an API in a process of its own."""
    here, there = CONTEXT.Pipe()
    process = CONTEXT.Process(target=_serve, args=(url, there), daemon=True)
    process.start()
    try:
        if not here.poll(_WITHIN):
            raise AssertionError("the API did not start")
        yield here.recv()
    finally:
        process.terminate()
        process.join(_WITHIN)


def _serve(url: str, started: Any) -> None:
    serve(Settings(database_url=url, host="127.0.0.1", port=0), listening=started.send)


@click.command()
@click.option("--callers", default=8, show_default=True, type=click.IntRange(1, 64), help="How many call at once.")
@click.option("--seconds", default=5, show_default=True, type=COUNT, help="For how long, each way.")
@click.option("--queues", default=1, show_default=True, type=click.IntRange(1, 100), help="How many queues there are.")
@ROUNDS
@on_server
def requests(database_url: str | None, as_json: bool, **asked: Any) -> None:
    """Schedule through the API, without keys and with a new one each time, and compare the rates."""
    tell(run_requests(database_url, progress=progress, **asked), as_json)


if __name__ == "__main__":
    requests()
