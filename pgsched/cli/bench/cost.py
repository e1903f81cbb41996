"""The benchmark of what statements cost."""

import click

from pgsched.cli.bench.options import COUNT, measures, progress, tell


@click.command()
@click.option("--calls", default=200, show_default=True, type=COUNT, help="How often each statement is measured.")
@measures
def cost(calls: int, database_url: str | None, as_json: bool) -> None:
    """Tell what each statement costs the server, in batches of 50 and of 500 rows."""
    from pgsched.bench.cost import run_cost

    tell(run_cost(database_url, calls=calls, progress=progress), as_json)
