"""Options shared by several commands."""

from collections.abc import Callable, Sequence
from typing import Any

import click
from click.core import ParameterSource

from pgsched.cli.parameters import assignment, host_name, json_text, label
from pgsched.cli.reply import Command
from pgsched.domain.states import SORTS, each_once
from pgsched.errors import InvalidSettings
from pgsched.password_hiding import has_password

actor_option = click.option(
    "--actor", metavar="NAME", help="Name to record in the audit log.  [default: the database role]"
)
limit_option = click.option(
    "--limit", type=click.IntRange(1, 10_000), default=50, show_default=True, help="Maximum number of rows to show."
)
ordering_key_option = click.option(
    "--ordering-key", metavar="KEY", help="Executions with the same ordering key run one at a time, in order."
)
payload_option = click.option(
    "--payload", type=json_text, metavar="JSON", help="Payload to deliver; @FILE reads a file, - reads standard input."
)


def options(*decorators: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Combines options into one decorator. The help lists them in the given order."""

    def decorate(command: Command) -> Command:
        for give in reversed(decorators):
            command = give(command)
        return command

    return decorate


def no_password(context: click.Context, parameter: click.Parameter, given: str | None) -> str | None:
    """The callback of a flag that must not contain a password, because every user of a machine can read process
    arguments."""
    name = parameter.name or ""
    if given and context.get_parameter_source(name) is ParameterSource.COMMANDLINE and has_password(given):
        apart = ", or leave the password out and set PGPASSWORD or PGPASSFILE" if name == "database_url" else ""
        raise InvalidSettings(
            f"{parameter.opts[0]} contains a password, and every user of this machine can read process arguments: "
            f"set PGSCHED_{name.upper()}, or set {name} in pgsched.toml{apart}"
        )
    return given


note_and_actor = options(
    click.option("--note", metavar="TEXT", help="Reason, shown in listings and in the audit log."), actor_option
)


def many_option(flag: str, text: str, kind: Any = assignment) -> Callable[[Command], Command]:
    """Adds a repeatable option such as ``--option NAME=VALUE``. The command gets a dict, or None, as ``options``."""
    name, metavar = f"{flag.removeprefix('--')}s", "NAME=VALUE" if kind is assignment else "NAME=TEXT"
    return click.option(
        flag,
        name,
        type=kind,
        multiple=True,
        metavar=metavar,
        help=text,
        callback=lambda _, __, given: dict(given) or None,
    )


def status_option(statuses: Sequence[str]) -> Callable[[Command], Command]:
    """Adds the repeatable option ``--status``. The command gets a list without duplicates, or None."""
    return click.option(
        "--status",
        multiple=True,
        type=click.Choice(statuses),
        help="Only this status; repeatable.",
        callback=lambda _, __, given: list(each_once(given)) or None,
    )


_FILTERS = {
    "client": click.option("--client", metavar="NAME", help="Only this client."),
    "queue": click.option("--queue", metavar="NAME", help="Only this queue."),
    "host": click.option(
        "--host", type=host_name, metavar="HOST", help="Only those whose target is on this host, on any port."
    ),
    "key": click.option("--key", metavar="KEY", help="Only those with this key."),
    "label": many_option("--label", "Only those with all of these labels.", label),
}


def only(*names: str) -> Callable[[Command], Command]:
    """Adds the filters with these names."""
    return options(*(_FILTERS[name] for name in names))


def recurrence_options(*, is_new: bool) -> Callable[[Command], Command]:
    """Adds ``--cron``, ``--every`` and related options. The help shows defaults if ``is_new``; an edit has none."""
    zone, gap, overlap = (f"  [default: {name}]" if is_new else "" for name in ("UTC", "shift", "first"))
    return options(
        click.option(
            "--cron", metavar="EXPRESSION", help="Cron expression to repeat by: five fields, or six with seconds first."
        ),
        click.option("--every", metavar="DURATION", help="Interval to repeat at, e.g. 15m."),
        click.option("--timezone", metavar="ZONE", help=f"Time zone of --cron, e.g. Europe/Berlin.{zone}"),
        click.option(
            "--gap", metavar="POLICY", help=f"What --cron does in an hour skipped in spring: shift or skip.{gap}"
        ),
        click.option(
            "--overlap",
            metavar="POLICY",
            help=f"What --cron does in an hour repeated in autumn: first, second or both.{overlap}",
        ),
    )


sort_option = click.option(
    "--sort",
    type=click.Choice(SORTS),
    default="newest",
    show_default=True,
    help="Sort order, by the scheduled instant.",
)


def page_options(kind: Any = str, metavar: str = "NEXT") -> Callable[[Command], Command]:
    """Adds ``--limit`` and ``--after``."""
    after = click.option(
        "--after", type=kind, metavar=metavar, help="Show the next page: give the value of next from the previous page."
    )
    return options(limit_option, after)
