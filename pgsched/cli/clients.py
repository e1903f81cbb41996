"""``pgsched clients``: what is set for clients."""

import sys
from typing import Any

import click

from pgsched.answers import page_of
from pgsched.cli.answers import Answer, changed, changes_in, listed, shown
from pgsched.cli.commands import command
from pgsched.cli.options import actor_option, many_option, note_and_actor, page_options
from pgsched.domain.request import length_of
from pgsched.domain.target import CHANNELS
from pgsched.sealing import KeyRing
from pgsched.settings import Settings
from pgsched.store.admin import clients as store

_COLUMNS = ("client", "state", "weight", "keep", "options", "database_role", "channels", "reason")
_CLEARABLE = (
    "keep", "options", "weight", "database-role", "channels", "dead-letter-target", "dead-letters-for", "late-after",
    "on-time-share",
)  # fmt: skip

clients = click.Group("clients", help="List, show, set, hold and release clients, and rotate their signing secrets.")


@command(clients, "list")
@page_options(str, "NAME")
async def list_clients(connection: Any, limit: int, after: str | None) -> Answer:
    """List the clients that something is set for."""
    found = await store.all_clients(connection, limit=limit + 1, after=after)
    return listed(page_of(found, limit, lambda row: row.client), _COLUMNS, "no clients")


@command(clients)
@click.argument("client")
async def show(connection: Any, client: str) -> Answer:
    """Show what is set for a client; signing secrets by their last characters."""
    return shown(await store.get_client(connection, client))


@command(clients, "set")
@click.argument("client")
@click.option("--keep", metavar="WHAT", help="Executions that history keeps: all, failures or nothing.")
@many_option("--option", "All defaults of its executions.")
@click.option("--weight", type=int, metavar="NUMBER", help="Its share where workers are saturated, from 1 to 100.")
@click.option("--database-role", metavar="ROLE", help="The role that acts for it in SQL.")
@click.option("--channel", "channels", multiple=True, type=click.Choice(CHANNELS), help="All that it may have called.")
@click.option("--dead-letter-target", metavar="TARGET", help="Target that is told of its dead letters.")
@click.option("--dead-letters-for", metavar="DURATION", help="How long they are kept, such as 90d.")
@click.option("--late-after", metavar="DURATION", help="An attempt that begins later is late, such as 1s.")
@click.option("--on-time-share", type=float, metavar="SHARE", help="How many shall not be late, such as 0.99.")
@click.option("--clear", type=click.Choice(_CLEARABLE), multiple=True, help="Back to its default.")
@actor_option
async def set_client(connection: Any, client: str, actor: str | None, **given: Any) -> Answer:
    """Set something for a client: only what is named."""
    done = await store.set_client(connection, client, changes_in(given), actor=actor)
    return changed(done, "set", "was so before", client=client)


@command(clients)
@click.argument("client")
@note_and_actor
async def hold(connection: Any, client: str, **said: Any) -> Answer:
    """Begin nothing more of a client until it is released."""
    return changed(await store.hold_client(connection, client, **said), "held", "was held already", client=client)


@command(clients)
@click.argument("client")
@note_and_actor
async def release(connection: Any, client: str, **said: Any) -> Answer:
    """End the hold of a client."""
    return changed(await store.release_client(connection, client, **said), "released", "was not held", client=client)


@command(clients)
@click.argument("client")
@actor_option
async def drop(connection: Any, client: str, actor: str | None) -> Answer:
    """Forget what is set for a client; its jobs and executions stay."""
    done = await store.drop_client(connection, client, actor=actor)
    return changed(done, "dropped", "nothing was set", client=client)


def _from_input(context: click.Context, parameter: click.Parameter, given: str | None) -> str | None:
    if given not in (None, "-"):
        raise click.UsageError(
            "everybody on this machine can read the arguments of a process: write --secret - and give the secret by "
            "standard input"
        )
    return given


@command(clients, "rotate-signing-secret", with_settings=True)
@click.argument("client")
@click.option("--secret", metavar="-", callback=_from_input, help="From standard input.  [default: a random one]")
@click.option(
    "--keep-for", metavar="DURATION", help="How long the former ones stay valid; 0s ends them.  [default: 24h]"
)
@actor_option
async def rotate_signing_secret(
    connection: Any, settings: Settings, client: str, secret: str | None, keep_for: str | None, actor: str | None
) -> Answer:
    """Sign a client's callbacks with a new secret. Prints it, this once."""
    kept = store.KEPT_FOR if keep_for is None else length_of(keep_for)
    ring = KeyRing.parse(settings.secret_keys)
    given = sys.stdin.read().strip() if secret else None
    made = await store.rotate_signing_secret(connection, ring, client, secret=given, keep_for=kept, actor=actor)
    return Answer({"client": client, "secret": made}, made)


@command(clients, "drop-signing-secret")
@click.argument("client")
@actor_option
async def drop_signing_secret(connection: Any, client: str, actor: str | None) -> Answer:
    """Stop signing a client's callbacks."""
    done = await store.drop_signing_secret(connection, client, actor=actor)
    return changed(done, "dropped", "there was none", client=client)
