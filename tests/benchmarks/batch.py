"""Measures how many one-shots a second the API accepts as the lines of one body, and the memory this takes."""

import http.client
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import click
import orjson
import psycopg

from pgsched.bench.database import fresh_database
from pgsched.bench.medians import medians
from pgsched.bench.seed_rows import Progress
from pgsched.cli.bench import COUNT, ROUNDS, on_server, progress, tell
from tests.benchmarks.requests import api_of

_PIECE = 2_000  # lines sent in one piece
_WITHIN = 60
_MODES = ("all", "each")


def run_batch(url: str | None, *, count: int, rounds: int = 1, progress: Progress = lambda _: None) -> dict[str, Any]:
    """Returns the lines a second of one batch in each mode, from the first byte to the last id, and the API's peak
    memory. Then sends a batch whose last line but one is invalid, which must leave nothing."""
    with fresh_database(url) as own, psycopg.connect(own, autocommit=True) as connection, api_of(own) as (address, pid):
        measured: list[dict[str, Any]] = []
        for number in range(rounds):
            found: dict[str, Any] = {}
            for mode in _MODES if number % 2 == 0 else reversed(_MODES):
                found[f"{mode}_rate"] = _measure(connection, address, count, mode)
                progress(f"{mode}: {found[f'{mode}_rate']} lines/s, peak {_peak_mb(pid)} MB")
            measured.append(found)
        refused = _break(connection, address, count)
        progress(refused)
        return {"count": count, "peak_mb": _peak_mb(pid), "refused": refused} | medians(measured)


def _body(count: int, broken: int | None = None) -> Iterator[bytes]:
    for first in range(0, count, _PIECE):
        some = range(first, min(first + _PIECE, count))
        yield b"".join(b"{}\n" if n + 1 == broken else _line(n) for n in some)


def _line(n: int) -> bytes:
    return (
        b'{"target":"https://shop.example/callback","payload":{"order":%d,"merchant":"merchant-%d"},'
        b'"schedule":{"fire_at":"2040-03-01T%02d:%02d:%02d.%03dZ"}}\n'
    ) % (n, n % 1000, n // 3_600_000 % 24, n // 60_000 % 60, n // 1000 % 60, n % 1000)


def _measure(connection: psycopg.Connection[Any], address: str, count: int, mode: str) -> int:
    pieces = [*_body(count)]  # built before timing starts
    started = time.monotonic()
    status, answer = _send(address, iter(pieces), mode)
    rate = round(count / (time.monotonic() - started))
    if status != http.client.OK:
        raise AssertionError(f"the API answered {status}: {answer[:200]!r}")
    answered = [orjson.loads(line)["id"] for line in answer.splitlines()]
    row = connection.execute(
        "select count(*), count(distinct payload -> 'order'), count(*) filter (where id = any(%s::uuid[]))"
        " from pgsched.executions",
        [answered],
    ).fetchone()
    if row != (count, count, count) or len(answered) != count:
        raise AssertionError(
            f"{len(answered)} answered; rows, distinct orders, answered ids = {row}; {count} were sent"
        )
    connection.execute("truncate pgsched.executions")
    return rate


def _break(connection: psycopg.Connection[Any], address: str, count: int) -> str:
    status, answer = _send(address, _body(count, broken=count - 1), "all")
    row = connection.execute("select count(*) from pgsched.executions").fetchone()
    if status != http.client.BAD_REQUEST or row != (0,):
        raise AssertionError(f"the API answered {status}: {answer[:200]!r}, and kept {row}")
    return str(orjson.loads(answer)["detail"])


def _send(address: str, pieces: Iterator[bytes], mode: str) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=_WITHIN)
    headers = {"Content-Type": "application/x-ndjson"}
    connection.request("POST", f"/v1/jobs/batch?mode={mode}", pieces, headers, encode_chunked=True)
    answer = connection.getresponse()
    found = answer.status, answer.read()
    connection.close()
    return found


def _peak_mb(pid: int) -> float | None:
    """Returns the peak resident memory in MB; None if the system does not report it."""
    status = Path(f"/proc/{pid}/status")
    lines = status.read_text().splitlines() if status.exists() else []
    return next((round(int(line.split()[1]) / 1024, 1) for line in lines if line.startswith("VmHWM:")), None)


@click.command()
@click.option("--count", default=1_000_000, show_default=True, type=COUNT, help="Lines per batch.")
@ROUNDS
@on_server
def batch(database_url: str | None, as_json: bool, **asked: Any) -> None:
    """Schedule one large batch through the API in each mode, and report lines a second and the API's peak memory."""
    tell(run_batch(database_url, progress=progress, **asked), as_json)


if __name__ == "__main__":
    batch()
