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
    """List the clients that have settings."""
    found = await store.all_clients(connection, limit=limit + 1, after=after)
    return listed(page_of(found, limit, lambda row: row.client), _COLUMNS, "no clients")


@command(clients)
@click.argument("client")
async def show(connection: Any, client: str) -> Answer:
    """Show a client's settings, with the last characters of its signing secrets."""
    return shown(await store.get_client(connection, client))


@command(clients, "set")
@click.argument("client")
@click.option("--keep", metavar="WHAT", help="Executions to keep in history: all, failures or nothing.")
@many_option("--option", "All defaults of its executions.")
@click.option("--weight", type=int, metavar="NUMBER", help="Weight when workers are saturated, 1 to 100.")
@click.option("--database-role", metavar="ROLE", help="The database role that acts for it in SQL.")
@click.option(
    "--channel", "channels", multiple=True, type=click.Choice(CHANNELS), help="Targets that it may call; repeatable."
)
@click.option("--dead-letter-target", metavar="TARGET", help="Target to call for each of its dead letters.")
@click.option("--dead-letters-for", metavar="DURATION", help="How long dead letters are kept, e.g. 90d.")
@click.option("--late-after", metavar="DURATION", help="An attempt that starts later than this is late, e.g. 1s.")
@click.option("--on-time-share", type=float, metavar="SHARE", help="Share of attempts that must be on time, e.g. 0.99.")
@click.option(
    "--clear", type=click.Choice(_CLEARABLE), multiple=True, help="Reset this setting to its default; repeatable."
)
@actor_option
async def set_client(connection: Any, client: str, actor: str | None, **given: Any) -> Answer:
    """Change the given settings of a client."""
    done = await store.set_client(connection, client, changes_in(given), actor=actor)
    return changed(done, "set", "was so before", client=client)


@command(clients)
@click.argument("client")
@note_and_actor
async def hold(connection: Any, client: str, **said: Any) -> Answer:
    """Start nothing more for a client until it is released."""
    return changed(await store.hold_client(connection, client, **said), "held", "was held already", client=client)


@command(clients)
@click.argument("client")
@note_and_actor
async def release(connection: Any, client: str, **said: Any) -> Answer:
    """Release a held client."""
    return changed(await store.release_client(connection, client, **said), "released", "was not held", client=client)


@command(clients)
@click.argument("client")
@actor_option
async def drop(connection: Any, client: str, actor: str | None) -> Answer:
    """Delete a client's settings; its jobs and executions stay."""
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
@click.option(
    "--secret", metavar="-", callback=_from_input, help="Read the secret from standard input.  [default: a random one]"
)
@click.option(
    "--keep-for", metavar="DURATION", help="How long the previous secrets stay valid; 0s ends them.  [default: 24h]"
)
@actor_option
async def rotate_signing_secret(
    connection: Any, settings: Settings, client: str, secret: str | None, keep_for: str | None, actor: str | None
) -> Answer:
    """Sign a client's callbacks with a new secret, which is printed only now."""
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
