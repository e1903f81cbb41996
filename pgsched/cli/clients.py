"""``pgsched clients``: the settings of clients."""

import sys
from typing import Any

import click

from pgsched.cli.answer_tables import Answer, changed, changes_in, listed, shown
from pgsched.cli.command_decorators import command, switch
from pgsched.cli.command_group import CommandGroup
from pgsched.cli.options import actor_option, many_option, page_options
from pgsched.cli.parameters import Number
from pgsched.domain.duration import length_of
from pgsched.domain.target import CHANNELS

_COLUMNS = ("client", "state", "weight", "keep", "options", "database_role", "channels", "reason")
_CLEARABLE = (
    "keep", "options", "weight", "database-role", "channels", "dead-letter-target", "dead-letters-for", "late-after",
    "on-time-share",
)  # fmt: skip

clients = CommandGroup("clients")


@command(clients, "list")
@page_options(str, "NAME")
async def list_clients(backend: Any, limit: int, after: str | None) -> Answer:
    """List the clients that have settings."""
    return await listed(backend.list_clients, limit, after, _COLUMNS, "no clients")


@command(clients)
@click.argument("client")
async def show(backend: Any, client: str) -> Answer:
    """Show a client's settings, with the last characters of its signing secrets."""
    return shown(await backend.get_client(client))


@command(clients, "set")
@click.argument("client")
@click.option("--keep", metavar="WHAT", help="Executions to keep in history: all, failures or nothing.")
@many_option("--option", "Default option for executions; repeatable. Those given replace all current ones.")
@click.option("--weight", type=int, metavar="NUMBER", help="Weight when workers are saturated, 1 to 100.")
@click.option("--database-role", metavar="ROLE", help="Database role that acts for this client in SQL.")
@click.option(
    "--channel",
    "channels",
    multiple=True,
    metavar="KIND",
    help=f"Kind of target that the client may call: {', '.join(CHANNELS)}, or notify:CHANNEL for one channel; "
    "repeatable.",
)
@click.option("--dead-letter-target", metavar="TARGET", help="Target to call for each dead letter.")
@click.option("--dead-letters-for", metavar="DURATION", help="How long dead letters are kept, e.g. 90d.")
@click.option("--late-after", metavar="DURATION", help="An attempt that starts later than this is late, e.g. 1s.")
@click.option(
    "--on-time-share",
    type=Number(),
    metavar="SHARE",
    help="Share of attempts that must be on time, e.g. 0.99.",
)
@click.option(
    "--clear", type=click.Choice(_CLEARABLE), multiple=True, help="Reset this setting to its default; repeatable."
)
@actor_option
async def set_client(backend: Any, client: str, **given: Any) -> Answer:
    """Change the given settings of a client."""
    done = await backend.change_client(client, changes_in(given))
    return changed(done, "set", "unchanged", client=client)


_CLIENT = click.argument("client")
_HOLDS = "Hold a client: no further executions of the client start until it is released."
switch(clients, _CLIENT, "hold_client", _HOLDS, "held", "was already held")
switch(clients, _CLIENT, "release_client", "Release a held client.", "released", "was not held")


@command(clients)
@click.argument("client")
@actor_option
async def drop(backend: Any, client: str) -> Answer:
    """Delete a client's settings. Its jobs and executions stay."""
    return changed(await backend.drop_client(client), "dropped", "had no settings", client=client)


def _from_input(context: click.Context, parameter: click.Parameter, given: str | None) -> str | None:
    if given not in (None, "-"):
        raise click.UsageError(
            "every user of this machine can read process arguments: write --secret -, and pass the secret on standard "
            "input"
        )
    return given


@command(clients, "rotate-signing-secret")
@click.argument("client")
@click.option(
    "--secret", metavar="-", callback=_from_input, help="Read the secret from standard input.  [default: a random one]"
)
@click.option(
    "--keep-for",
    metavar="DURATION",
    help="How long the previous secrets stay valid; 0s revokes them at once.  [default: 24h]",
)
@actor_option
async def rotate_signing_secret(backend: Any, client: str, secret: str | None, keep_for: str | None) -> Answer:
    """Sign a client's callbacks with a new secret, which is printed only once."""
    kept = None if keep_for is None else length_of(keep_for)
    given = sys.stdin.read().strip() if secret else None
    made = await backend.rotate_signing_secret(client, secret=given, keep_for=kept)
    return Answer({"client": client, "secret": made}, made)


@command(clients, "drop-signing-secret")
@click.argument("client")
@actor_option
async def drop_signing_secret(backend: Any, client: str) -> Answer:
    """Stop signing a client's callbacks."""
    return changed(await backend.drop_signing_secret(client), "dropped", "did not exist", client=client)
