"""Every fault there is, made under load, one after the other or mixed at random; and a table of what came of it."""

import random
import tempfile
import time
from pathlib import Path

import click

from tests.faults import of_clocks, of_disks, of_replication, of_the_network, of_the_server, of_workers
from tests.faults.fault import FAULTS, Fault, endure
from tests.faults.load import Promise
from tests.faults.servers import place_for
from tests.faults.verdict import Verdict

__all__ = ["of_clocks", "of_disks", "of_replication", "of_the_network", "of_the_server", "of_workers"]

_HEAD = """\
| fault | promised | acknowledged | lost | again | recovery (goal) | memory | log lines | broken |
|---|---|---|---|---|---|---|---|---|"""
_TOO_LONG = "many-due-at-once"


def line(fault: Fault, verdict: Verdict) -> str:
    """One row of the table."""
    again = ", ".join(f"{count}: {why}" for why, count in verdict.repeated.items()) or "0"
    recovery = "not seen" if verdict.recovery is None else f"{verdict.recovery:.1f} s"
    lost = f"{len(verdict.lost)}" + (f" ({len(verdict.forgotten)} forgotten)" if verdict.forgotten else "")
    return (
        f"| {fault.name} | {fault.promised} | {verdict.acknowledged} | {lost} | {again} "
        f"| {recovery} ({fault.within:g} s) | {verdict.memory:.0f} MB | {verdict.log_lines} | {verdict.broken or ''} |"
    )


def one_by_one(faults: list[Fault], *, rounds: int, seconds: float | None, rate: int) -> bool:
    """Each on an installation of its own. Returns whether all kept what is promised."""
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
    """Faults that need nothing beside a plain server, in random order on one installation, for so many minutes. All
    that was acknowledged from the first to the last is judged."""
    faults = [fault for fault in FAULTS.values() if fault.needs is None and fault.name != _TOO_LONG]
    choice, kept = random.Random(seed), True
    with (
        tempfile.TemporaryDirectory(prefix="pgsched-faults-") as directory,
        place_for(faults[0], Path(directory), rate=rate) as site,
    ):
        ends, judged = time.monotonic() + minutes * 60, dict[str, Promise]()
        while time.monotonic() < ends:
            fault = choice.choice(faults)
            verdict = endure(site, fault, judged=judged)
            click.echo(line(fault, verdict))
            kept &= not verdict.broken
        book = site.load.book
        click.echo(f"{len(judged)} executions were acknowledged, {book.refusals} were refused for the moment")
    return kept


@click.command()
@click.option("--fault", "names", multiple=True, type=click.Choice(sorted(FAULTS)), help="Which; all if none is named.")
@click.option("--rounds", default=3, show_default=True, type=click.IntRange(1), help="How often each.")
@click.option("--seconds", type=click.FloatRange(0), help="For how long each lasts, instead of its own time.")
@click.option("--rate", default=300, show_default=True, type=click.IntRange(20), help="Plain one-shots a second.")
@click.option("--mix", is_flag=True, help="Mix them at random on one installation.")
@click.option("--minutes", default=60.0, show_default=True, type=click.FloatRange(0.1), help="How long --mix goes on.")
@click.option("--seed", default=1, show_default=True, help="Of the random order.")
def soak(
    names: tuple[str, ...], rounds: int, seconds: float | None, rate: int, mix: bool, minutes: float, seed: int
) -> None:
    """Make faults under load and tell what came of them."""
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
