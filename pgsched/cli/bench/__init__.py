"""`pgsched bench`: measurements anybody can repeat. The result on standard output, the progress on standard error."""

import click

from pgsched.cli.bench.endurance import chaos
from pgsched.cli.bench.moments import idle, lateness
from pgsched.cli.bench.rates import drain


@click.group()
def bench() -> None:
    """Measure pgsched, on a database made for the occasion and dropped afterwards.

    With no database URL an embedded server is started for it. Each run asserts by identity that nothing was lost and
    nothing was done twice.
    """


for _command in (drain, lateness, idle, chaos):
    bench.add_command(_command)
