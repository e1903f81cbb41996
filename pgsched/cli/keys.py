"""``pgsched admin keys``: API keys, which control who may do what over the API."""

from datetime import datetime, timedelta
from typing import Any

import click

from pgsched.api_responses import page_of
from pgsched.cli.answer_tables import Answer, changed, tabled
from pgsched.cli.command_decorators import database_command
from pgsched.cli.command_group import CommandGroup
from pgsched.cli.options import actor_option, page_options
from pgsched.cli.parameters import instant
from pgsched.domain.api_key import SCOPES
from pgsched.domain.duration import length_of
from pgsched.store import internal_verbs
from pgsched.store.admin import api_keys

_COLUMNS = ("id", "subject", "clients", "scopes", "expires_at", "last_used_at", "revoked_at", "rate", "burst")
_ONCE = "this token is not shown again: keep it where only its user can read it"


@click.group(cls=CommandGroup)
def keys() -> None:
    """Create, list, rotate, limit and revoke API keys."""


@database_command(keys)
@click.argument("subject")
@click.option(
    "--client",
    "clients",
    multiple=True,
    metavar="NAME",
    help="Client that the key may act for; repeatable.  [default: all]",
)
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    required=True,
    type=click.Choice(SCOPES),
    help="What the key may do; repeatable.",
)
@click.option("--expires-at", type=instant, metavar="INSTANT", help="When the key expires.  [default: never]")
@click.option("--rate", type=click.IntRange(1, 1_000_000), metavar="NUMBER", help="Maximum requests per second.")
@click.option(
    "--burst",
    type=click.IntRange(1, 1_000_000),
    metavar="NUMBER",
    help="Maximum requests at once after a quiet period.",
)
@actor_option
async def create(
    connection: Any,
    subject: str,
    clients: tuple[str, ...],
    scopes: tuple[str, ...],
    expires_at: datetime | None,
    **given: Any,
) -> Answer:
    """Create a key for SUBJECT and print its token."""
    token = await api_keys.create(
        connection, subject=subject, clients=clients or None, scopes=scopes, expires_at=expires_at, **given
    )
    return Answer({"id": token.id, "token": str(token)}, str(token), _ONCE)


@database_command(keys, "list")
@page_options(str, "ID")
async def list_keys(connection: Any, limit: int, after: str | None) -> Answer:
    """List the keys, including revoked ones."""
    found = await api_keys.all_keys(connection, limit=limit + 1, after=after)
    return tabled(
        page_of(found, limit, lambda row: row.id),
        _COLUMNS,
        "no keys: the API accepts every request, but listens only on loopback",
    )


@database_command(keys)
@click.argument("id")
@click.option("--keep-for", metavar="DURATION", help="How long the previous token stays valid.  [default: 0s]")
@actor_option
async def rotate(connection: Any, id: str, keep_for: str | None, actor: str | None) -> Answer:
    """Give a key a new secret and print its token."""
    kept = timedelta(0) if keep_for is None else length_of(keep_for)
    token = await api_keys.rotate(connection, id, keep_for=kept, actor=actor)
    return Answer({"id": token.id, "token": str(token)}, str(token), _ONCE)


@database_command(keys)
@click.argument("id")
@click.option(
    "--rate", type=click.IntRange(1, 1_000_000), metavar="NUMBER", help="Requests per second.  [default: unlimited]"
)
@click.option(
    "--burst",
    type=click.IntRange(1, 1_000_000),
    metavar="NUMBER",
    help="Maximum requests at once after a quiet period.  [default: the rate]",
)
@actor_option
async def limit(connection: Any, id: str, rate: int | None, burst: int | None, actor: str | None) -> Answer:
    """Limit a key's requests per second in each API process. Without --rate, remove the limit."""
    is_changed = await internal_verbs.set_key_rate(connection, id, rate=rate, burst=burst, actor=actor)
    return changed(is_changed, "set", "unchanged", id=id)


@database_command(keys)
@click.argument("id")
@actor_option
async def revoke(connection: Any, id: str, actor: str | None) -> Answer:
    """Revoke a key. Within a second, every API process refuses it."""
    return changed(
        await internal_verbs.revoke_key(connection, id, actor=actor), "revoked", "was already revoked", id=id
    )
