"""``pgsched clients rotate-secret`` and ``drop-secret``: what a client's callbacks are signed with."""

import sys
from datetime import timedelta
from typing import Any

import click

from pgsched.cli.configuration import DATABASE, settings_options
from pgsched.cli.reply import Reply, json_option
from pgsched.cli.setting import actor_option, ask_with


@click.command()
@settings_options(DATABASE)
@click.argument("client")
@click.option("--secret", metavar="SECRET", help="whsec_ and base64; - reads standard input.  [default: a random one]")
@click.option(
    "--keep-for", metavar="DURATION", help="How long the former ones stay valid; 0s ends them.  [default: 24h]"
)
@actor_option
@json_option
@click.pass_obj
def rotate_secret(
    reply: Reply, /, client: str, secret: str | None, keep_for: str | None, actor: str | None, **given: Any
) -> None:
    """Sign a client's callbacks with a new secret. Prints it, this once."""
    from pgsched.store.admin import clients

    kept = clients.KEPT_FOR if keep_for is None else _length(keep_for)
    new = sys.stdin.read().strip() if secret == "-" else secret
    made = ask_with(
        given,
        lambda connection: clients.rotate_secret(connection, client, secret=new, keep_for=kept, actor=actor),
    )
    reply.give({"client": client, "secret": made}, made)


@click.command()
@settings_options(DATABASE)
@click.argument("client")
@actor_option
@json_option
@click.pass_obj
def drop_secret(reply: Reply, /, client: str, actor: str | None, **given: Any) -> None:
    """Sign a client's callbacks no more."""
    from pgsched.store.admin import clients

    changed = ask_with(given, lambda connection: clients.drop_secret(connection, client, actor=actor))
    reply.give({"client": client, "changed": changed}, "dropped" if changed else "there was none")


def _length(given: str) -> timedelta:
    from pgsched.domain.duration import parse_duration
    from pgsched.domain.request import NO_DELAY

    return timedelta(0) if given in NO_DELAY else parse_duration(given)
