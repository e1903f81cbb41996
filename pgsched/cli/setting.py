"""What the commands share that set something: for clients, queues and limits."""

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import click

from pgsched.cli.configuration import DATABASE, load_settings, with_database
from pgsched.cli.reply import Command
from pgsched.errors import InvalidInput

_Answer = TypeVar("_Answer")
actor_option = click.option(
    "--actor", metavar="NAME", help="Who does it, for the audit log.  [default: the database's role]"
)


def said_options(command: Command) -> Command:
    """Gives a command ``--note`` and ``--actor``."""
    return click.option("--note", metavar="TEXT", help="Why; it is shown as the reason, and logged.")(
        actor_option(command)
    )


def ask_with(given: dict[str, Any], question: Callable[[Any], Awaitable[_Answer]]) -> _Answer:
    """Asks the database that a command's flags name; takes those flags out of what was given."""
    from pgsched.cli.database import ask

    flags = {name: given.pop(name) for name in (*DATABASE, "config")}
    return ask(with_database(load_settings(flags)), question)


def changes_in(given: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    """What flags set, and ``--clear`` puts back to its default. Raises InvalidInput for both of one."""
    found = {name: given[name] for name in names if given.get(name) is not None and name != "options"}
    if given.get("options"):
        found["options"] = dict(given["options"])
    for flag in given.get("clear", ()):
        name = flag.replace("-", "_")
        if name in found:
            raise InvalidInput(f"--clear {flag} takes away what another flag gives: leave one of them out")
        found[name] = None
    return found


def some_changes_in(given: dict[str, Any], names: tuple[str, ...], example: str) -> dict[str, Any]:
    """The same. Raises InvalidInput also where nothing is given."""
    found = changes_in(given, names)
    if not found:
        raise InvalidInput(f"there is nothing to set: give what shall be different, such as {example}")
    return found
