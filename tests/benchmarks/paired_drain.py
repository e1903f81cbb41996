"""Drains two checkouts at the same time, each on its own server.

On a shared machine, the rate of a drain varies. Other load affects two simultaneous drains alike, so their ratio shows
a difference of a few percent, which consecutive drains cannot.

    git worktree add ../before v1.2
    python -m tests.benchmarks.paired_drain ../before . --rounds 14

Prints the second checkout's figures relative to the first's: the median of the rounds, their mean and its standard
error.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

FIGURES = {
    "rate": "executions a second",
    "worker_cpu_us_per_execution": "CPU of the workers",
    "server_cpu_us_per_execution": "CPU of the server",
    "server_claim_cpu_us_per_execution": "of it, claims",
    "server_settle_cpu_us_per_execution": "of it, settles",
    "wal_bytes_per_execution": "write-ahead log",
}


def drain(count: int, rounds: int, processes: int, metrics: str | None) -> None:
    """Runs one of the two: drains with the imported pgsched, each started by a line on standard input."""
    import psycopg

    from pgsched.bench.database import fresh_database
    from pgsched.bench.drain import measure_drain, settings_of
    from pgsched.bench.seed_rows import load
    from pgsched.settings import Settings

    def settings(url: str) -> Settings:
        return replace(settings_of(url), metrics=metrics) if metrics else settings_of(url)

    def load_and_wait(*given: Any, **named: Any) -> float:
        seconds = load(*given, **named)
        _wait_for_the_other("loaded")
        return seconds

    _wait_for_the_other("imported")  # so that an invalid checkout is detected before servers start
    with fresh_database(None) as url, psycopg.connect(url, autocommit=True) as connection:
        connection.execute("set pgsched.notify = off")
        with patch("pgsched.bench.drain.load", load_and_wait):
            for _ in range(rounds):
                _tell(json.dumps(measure_drain(connection, settings(url), count=count, processes=processes)))


def _wait_for_the_other(told: str) -> None:
    _tell(told)
    if not sys.stdin.readline():
        raise SystemExit("the other drain has exited")


def _tell(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def compare(before: Path, after: Path, asked: argparse.Namespace) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Returns each round's measurements of both."""
    found = []
    metrics = ["--metrics"] if asked.metrics else []
    with _drains_of(before, asked) as first, _drains_of(after, asked, *metrics) as second:
        _begin_together(first, second)
        for _ in range(asked.rounds):
            _begin_together(first, second)
            measured = json.loads(_answer(first)), json.loads(_answer(second))
            sys.stderr.write(f"{measured[0]['rate']}/s and {measured[1]['rate']}/s\n")
            found.append(measured)
    return found


@contextmanager
def _drains_of(checkout: Path, asked: argparse.Namespace, *more: str) -> "Iterator[subprocess.Popen[str]]":
    given = [f"--{name}={getattr(asked, name)}" for name in ("count", "rounds", "processes")]
    place = checkout.resolve()
    own = place / "tests" / "benchmarks" / Path(__file__).name  # this file; names may differ there
    with subprocess.Popen(
        [sys.executable, "-P", own, "--one", *given, *more],
        cwd=place,
        env=os.environ | {"PYTHONPATH": str(place)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as one:
        yield one


def _begin_together(*both: "subprocess.Popen[str]") -> None:
    """Lets both continue once both are ready."""
    for one in both:
        _answer(one)
    for one in both:
        _let_go(one)


def _let_go(one: "subprocess.Popen[str]") -> None:
    assert one.stdin is not None
    one.stdin.write("go\n")
    one.stdin.flush()


def _answer(one: "subprocess.Popen[str]") -> str:
    assert one.stdout is not None
    if not (line := one.stdout.readline()):
        raise SystemExit("a drain failed; its output is above")
    return line


def main() -> None:
    """Compares the checkouts and prints the result."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "checkouts", nargs="*", type=Path, metavar="CHECKOUT", help="the checkouts before and after a change"
    )
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--count", type=int, default=300_000, help="executions per drain")
    parser.add_argument("--processes", type=int, default=1, help="workers per checkout")
    parser.add_argument(
        "--metrics", action="store_true", help="the second checkout serves Prometheus metrics, the first does not"
    )
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.one:
        drain(asked.count, asked.rounds, asked.processes, "127.0.0.1:0" if asked.metrics else None)
        return
    if len(asked.checkouts) != 2 or asked.rounds < 2:
        parser.error("name two checkouts of pgsched and at least two rounds")
    before, after = asked.checkouts
    found = compare(before, after, asked)
    for figure, name in FIGURES.items():
        ratios = [second[figure] / first[figure] for first, second in found]
        error = statistics.stdev(ratios) / len(ratios) ** 0.5
        sys.stdout.write(
            f"{name}: {statistics.median(ratios):.3f} (mean {statistics.mean(ratios):.3f} ± {error:.3f})\n"
        )


if __name__ == "__main__":
    main()
