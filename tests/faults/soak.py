"""Causes every fault under load, one after another or in random order, and prints a table of the results."""

import random
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import click

from tests.faults import of_clocks, of_disks, of_replication, of_the_network, of_the_server, of_workers
from tests.faults.fault import CLOCK, EVENING, FAULTS, Fault, close, endure
from tests.faults.load import Promise
from tests.faults.servers import place_for
from tests.faults.site import Site
from tests.faults.verdict import Verdict

__all__ = ["of_clocks", "of_disks", "of_replication", "of_the_network", "of_the_server", "of_workers"]

_HEAD = """\
| fault | promised | acknowledged | lost | repeated | recovery (goal) | memory | log lines | broken |
|---|---|---|---|---|---|---|---|---|"""
_LAST = 45.0
"""The approximate time in seconds that the last fault on an installation takes."""
_ALONE = CLOCK, EVENING
"""If the server's clock differs from the machine's, other faults may never end: libfaketime gives PostgreSQL's signal
handlers either of the two times, so a timeout may be delayed by the difference, and a deadlock remains."""
_LONGEST = 300.0
"""The longest time in seconds for which an installation runs: a small disk has no room for more history."""


def line(fault: Fault, verdict: Verdict) -> str:
    """Returns one row of the table."""
    again = ", ".join(f"{count}: {why}" for why, count in verdict.repeated.items()) or "0"
    recovery = "not seen" if verdict.recovery is None else f"{verdict.recovery:.1f} s"
    lost = f"{len(verdict.lost)}" + (f" ({len(verdict.forgotten)} forgotten)" if verdict.forgotten else "")
    return (
        f"| {fault.name} | {fault.promised} | {verdict.acknowledged} | {lost} | {again} "
        f"| {recovery} ({fault.within:g} s) | {verdict.memory:.0f} MB | {verdict.log_lines} | {verdict.broken or ''} |"
    )


def one_by_one(faults: list[Fault], *, rounds: int, seconds: float | None, rate: int) -> bool:
    """Causes each fault on its own installation. Returns True if every promise was kept."""
    kept = True
    for fault in faults:
        for _ in range(rounds):
            with (
                tempfile.TemporaryDirectory(prefix="pgsched-faults-") as directory,
                place_for(fault, Path(directory), rate=rate) as site,
            ):
                verdict = endure(site, fault, seconds=seconds)
            click.echo(line(fault, verdict))
            kept &= not verdict.broken
    return kept


def mixed(*, minutes: float, rate: int, seed: int) -> bool:
    """Causes all faults in random order, for ``minutes`` and each at least once. A fault that needs a special
    installation gets one; faults that need nothing special are caused on it first, unless its server's clock is set.
    Everything that an installation acknowledged is judged."""
    choice, total = random.Random(seed), Total()
    anywhere = _endless([fault for fault in FAULTS.values() if not _comes_last(fault)], choice)
    last = [fault for fault in FAULTS.values() if _comes_last(fault)]
    ends = time.monotonic() + minutes * 60
    in_turn = _endless(last, choice)
    for made in count():
        if made >= len(last) and time.monotonic() >= ends:
            break
        fault, share = next(in_turn), (ends - time.monotonic()) / max(1, len(last) - made)
        with (
            tempfile.TemporaryDirectory(prefix="pgsched-faults-") as directory,
            place_for(fault, Path(directory), rate=rate) as site,
        ):
            _mix(site, anywhere, fault, total, time.monotonic() + min(share, _LONGEST))
    click.echo(f"{total.faults} faults of {len(total.kinds)} kinds; {total}")
    return total.kept


def _endless(faults: list[Fault], choice: random.Random) -> Iterator[Fault]:
    """Yields all faults in random order, then again in another order, endlessly."""
    while True:
        yield from choice.sample(faults, len(faults))


def _comes_last(fault: Fault) -> bool:
    """True if the fault needs a special installation, or leaves so large a backlog that later faults would fail."""
    return fault.needs is not None or fault.name == "many-due-at-once"


@dataclass(slots=True)
class Total:
    """The results of a mix."""

    faults: int = 0
    kinds: set[str] = field(default_factory=set)
    acknowledged: int = 0
    judged: int = 0
    forgotten: int = 0
    again: int = 0
    instants: int = 0
    refusals: int = 0
    kept: bool = True

    def __str__(self) -> str:
        return (
            f"{self.acknowledged:,} executions acknowledged, {self.judged:,} of them judged,"
            f" {self.again} delivered again, {self.forgotten} forgotten;"
            f" {self.instants:,} instants of jobs; {self.refusals} temporarily refused"
        )

    def add(self, verdict: Verdict) -> None:
        """Adds the verdict on some of the executions."""
        self.judged += verdict.acknowledged
        self.forgotten += len(verdict.forgotten)
        self.again += sum(verdict.repeated.values())
        self.kept &= not verdict.broken


def _mix(site: Site, anywhere: Iterator[Fault], last: Fault, total: Total, until: float) -> None:
    """Until ``until``, causes faults that need nothing special; then causes the last one and judges the rest."""
    judged = dict[str, Promise]()
    one = None
    while one is not last:
        one = last if last.needs in _ALONE or time.monotonic() + _LAST >= until else next(anywhere)
        verdict = endure(site, one, judged=judged)
        click.echo(line(one, verdict))
        total.faults += 1
        total.kinds.add(one.name)
        total.add(verdict)
    rest = close(site, last, judged=judged)
    if rest.broken:
        click.echo(line(last, rest))
    total.add(rest)
    total.acknowledged += len(site.load.book.known())
    total.instants += rest.accounted
    total.refusals += site.load.book.refusals


@click.command()
@click.option(
    "--fault", "names", multiple=True, type=click.Choice(sorted(FAULTS)), help="Faults to cause; by default, all."
)
@click.option("--rounds", default=3, show_default=True, type=click.IntRange(1), help="Number of rounds for each.")
@click.option("--seconds", type=click.FloatRange(0), help="Duration of each fault instead of its default.")
@click.option("--rate", default=300, show_default=True, type=click.IntRange(20), help="Plain one-shots per second.")
@click.option("--mix", is_flag=True, help="Mix the faults at random.")
@click.option("--minutes", default=60.0, show_default=True, type=click.FloatRange(0.1), help="Duration of --mix.")
@click.option("--seed", default=1, show_default=True, help="Seed of the random order.")
def soak(
    names: tuple[str, ...], rounds: int, seconds: float | None, rate: int, mix: bool, minutes: float, seed: int
) -> None:
    """Cause faults under load and report the results."""
    click.echo(_HEAD)
    if mix:
        kept = mixed(minutes=minutes, rate=rate, seed=seed)
    else:
        faults = [FAULTS[name] for name in names] or list(FAULTS.values())
        kept = one_by_one(faults, rounds=rounds, seconds=seconds, rate=rate)
    if not kept:
        raise SystemExit(1)


if __name__ == "__main__":
    soak()
