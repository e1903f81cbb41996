"""Benchmarks of what holds when things go wrong or go on for long."""

import click

from pgsched.cli.bench.options import progress, tell


@click.command()
@click.option(
    "--count", default=100_000, show_default=True, type=click.IntRange(1000), help="How many executions to drain."
)
@click.option(
    "--processes", default=3, show_default=True, type=click.IntRange(2, 64), help="How many worker processes."
)
@click.option(
    "--seconds", default=60, show_default=True, type=click.IntRange(15), help="For how long workers are killed."
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object on standard output, nothing else.")
def chaos(count: int, processes: int, seconds: int, as_json: bool) -> None:
    """Kill and freeze workers, cut listeners off, restart the server, and prove that nothing was lost.

    Always on an embedded server of its own.
    """
    from pgsched.bench.chaos import run_chaos

    tell(run_chaos(count=count, processes=processes, seconds=seconds, progress=progress), as_json)
