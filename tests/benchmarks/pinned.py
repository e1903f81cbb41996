"""Measures what a long-held snapshot does to claims, lateness and draining.

First come a clean phase at the rate and a clean drain. Then a snapshot is held, readers with shorter ones run beside
it, and the rate continues for ``seconds``. One backlog is drained under the snapshot and another as soon as it is
released. Nothing is vacuumed by hand: autovacuum is on, as in production.
"""

from typing import Any

import click
import psycopg

from pgsched.bench.database import loading
from pgsched.bench.drain import measure_drain, settings_of
from pgsched.bench.lateness import measure_lateness, settings_on_time
from pgsched.bench.seed_rows import Progress
from pgsched.cli.bench import COUNT, NONE_OR_MORE, SEED, on_server, progress, tell, worker_processes
from tests.benchmarks.measuring.sizes import live_table
from tests.benchmarks.measuring.snapshots import snapshots_held

_TOLD = (
    "p50_ms",
    "p99_ms",
    "max_ms",
    "worst_minute_p99_ms",
    "claim_p50_ms",
    "claim_p99_ms",
    "worst_minute_claim_p99_ms",
)


def run_pinned(
    url: str | None,
    *,
    rate: int,
    seconds: int,
    clean: int,
    backlog: int,
    processes: int = 2,
    readers: int = 5,
    hold: float = 20.0,
    lead: float = 3.0,
    seed: int = 1,
    progress: Progress = lambda _: None,
) -> dict[str, Any]:
    """Returns the figures of the phases ``clean``, ``pinned`` and ``released``, and the later ones relative to the
    first.

    ``rate_held`` is the achieved rate as a share of the requested one. Each phase is checked by identity.
    """
    with loading(url, seed) as (own, connection):
        phases = _Phases(connection, own, rate, backlog, processes, lead, seed, progress)
        found = phases.at_rate("clean", clean) | phases.drain("clean") | phases.sizes("clean")
        with snapshots_held(own, readers=readers, hold=hold):
            found |= phases.at_rate("pinned", seconds) | phases.sizes("pinned") | phases.drain("pinned")
        found |= phases.drain("released") | phases.sizes("released")
    asked = {"rate": rate, "seconds": seconds, "clean_seconds": clean, "backlog": backlog, "processes": processes}
    return asked | {"readers": readers, "reader_seconds": hold} | found | _compared(found)


class _Phases:
    def __init__(
        self,
        connection: psycopg.Connection[Any],
        url: str,
        rate: int,
        backlog: int,
        processes: int,
        lead: float,
        seed: int,
        progress: Progress,
    ) -> None:
        self._connection, self._url, self._rate, self._backlog = connection, url, rate, backlog
        self._processes, self._lead, self._seed, self._progress = processes, lead, seed, progress

    def at_rate(self, name: str, seconds: int) -> dict[str, Any]:
        self._progress(f"{name}: {self._rate}/s for {seconds} s")
        measured = measure_lateness(
            self._connection,
            settings_on_time(self._url),
            rate=self._rate,
            seconds=seconds,
            processes=self._processes,
            feed=True,
            lead=self._lead,
            seed=self._seed,
            progress=self._progress,
        )
        told = {f"{name}_{figure}": measured[figure] for figure in _TOLD}
        return told | {
            f"{name}_rate_held": round(measured["achieved_rate"] / self._rate, 3),
            f"{name}_scheduled_in_time": measured["scheduled_in_time"],
        }

    def drain(self, name: str) -> dict[str, Any]:
        self._progress(f"{name}: draining {self._backlog}")
        measured = measure_drain(
            self._connection,
            settings_of(self._url),
            count=self._backlog,
            processes=self._processes,
            tidy=False,
            progress=self._progress,
        )
        return {f"{name}_drain_rate": measured["rate"]}

    def sizes(self, name: str) -> dict[str, Any]:
        return {f"{name}_{figure}": value for figure, value in live_table(self._connection).items()}


def _compared(found: dict[str, Any]) -> dict[str, Any]:
    ratios = {
        "claim_p99_ratio": ("pinned_claim_p99_ms", "clean_claim_p99_ms"),
        "p99_ratio": ("pinned_p99_ms", "clean_p99_ms"),
        "pinned_drain_ratio": ("pinned_drain_rate", "clean_drain_rate"),
        "released_drain_ratio": ("released_drain_rate", "clean_drain_rate"),
    }
    return {
        name: round(found[above] / found[below], 2) if found[above] is not None and found[below] else None
        for name, (above, below) in ratios.items()
    }


@click.command()
@click.option("--rate", default=2000, show_default=True, type=COUNT, help="Executions per second.")
@click.option("--seconds", default=1800, show_default=True, type=COUNT, help="Seconds for which the snapshot is held.")
@click.option(
    "--clean", default=60, show_default=True, type=COUNT, help="Seconds at the rate beforehand, without a snapshot."
)
@click.option("--backlog", default=100_000, show_default=True, type=COUNT, help="Executions per drain.")
@click.option(
    "--readers",
    default=5,
    show_default=True,
    type=NONE_OR_MORE,
    help="Number of readers, each of which holds one 20-second snapshot after another.",
)
@worker_processes()
@SEED
@on_server
def pinned(database_url: str | None, as_json: bool, **asked: Any) -> None:
    """Hold a snapshot open, so that nothing can be cleaned up, and report the effect on rate, claims and lateness."""
    tell(run_pinned(database_url, progress=progress, **asked), as_json)


if __name__ == "__main__":
    pinned()
