"""Options that several commands have."""

from collections.abc import Callable
from typing import Any

import click

from pgsched.cli.parameters import assignment, identity
from pgsched.cli.reply import Command

actor_option = click.option(
    "--actor", metavar="NAME", help="Who does it, for the audit log.  [default: the database's role]"
)
limit_option = click.option(
    "--limit", type=click.IntRange(1, 10_000), default=50, show_default=True, help="Most rows to show."
)


def options(*decorators: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Several options as one decorator, in the order of the help."""

    def decorate(command: Command) -> Command:
        for give in reversed(decorators):
            command = give(command)
        return command

    return decorate


note_and_actor = options(
    click.option("--note", metavar="TEXT", help="Why; it is shown as the reason, and logged."), actor_option
)


def defaults_option(text: str) -> Callable[[Command], Command]:
    """``--option NAME=VALUE``, any number of them."""
    return click.option("--option", "options", type=assignment, multiple=True, metavar="NAME=VALUE", help=text)


def page_options(kind: Any = identity, metavar: str = "ID") -> Callable[[Command], Command]:
    """``--limit`` and ``--after``."""
    after = click.option(
        "--after", type=kind, metavar=metavar, help="Go on after the page that answered with this as next."
    )
    return options(limit_option, after)
