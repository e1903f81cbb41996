"""`pgsched bench`: measurements anybody can repeat. The result on standard output, the progress on standard error."""

import click

from pgsched.cli.bench.cost import cost
from pgsched.cli.bench.endurance import chaos, pinned, soak, waiting
from pgsched.cli.bench.intake import bulk, pickup, requests, schedule, writers
from pgsched.cli.bench.limits import fairness, orderly, outage, tenants
from pgsched.cli.bench.moments import idle, lateness
from pgsched.cli.bench.rates import callbacks, drain, fleet, recurring


@click.group()
def bench() -> None:
    """Measure pgsched, on a database made for the occasion and dropped afterwards.

    With no database URL an embedded server is started for it. Each run asserts by identity that nothing was lost and
    nothing was done twice.
    """


_COMMANDS = (
    drain,
    callbacks,
    recurring,
    fleet,
    lateness,
    idle,
    pinned,
    waiting,
    soak,
    chaos,
    cost,
    bulk,
    schedule,
    requests,
    writers,
    pickup,
    tenants,
    fairness,
    outage,
    orderly,
)
for _command in _COMMANDS:
    bench.add_command(_command)
