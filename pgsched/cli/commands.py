"""The common parts of commands on the database: each of them only declares its parameters, its question and its answer.

    @command(clients)
    @click.argument("client")
    @note_and_actor
    async def hold(connection: Any, client: str, note: str | None, actor: str | None) -> Answer:
        \"\"\"Begin nothing more of a client until it is released.\"\"\"
        ...

The function is given a connection, in a transaction that is committed when it returns. ``--database-url`` and its like
and ``--json`` are added to what it takes.
"""

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

import click

from pgsched.cli.configuration import DATABASE, load_settings, settings_options, with_database
from pgsched.cli.parameters import assignment, identity
from pgsched.cli.reply import Command, Reply, json_option, listing, table
from pgsched.errors import InvalidInput

if TYPE_CHECKING:
    from uuid import UUID

    from pgsched.store.lookup.rows import Page

_Row = TypeVar("_Row")
_SECONDS = 5.0
_ATTEMPT = ("attempt", "finished_at", "duration", "status_code", "error")


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of a command: ``value`` as JSON, or ``text``; with a ``note`` on standard error."""

    value: Mapping[str, Any]
    text: str
    note: str | None = None


def command(
    group: click.Group | None = None, name: str | None = None
) -> Callable[[Callable[..., Awaitable[Answer]]], click.Command]:
    """Makes an async function a command, of a group where one is given."""

    def decorate(question: Callable[..., Awaitable[Answer]]) -> click.Command:
        @click.pass_obj
        @wraps(question)
        def run(reply: Reply, /, **given: Any) -> None:
            from pgsched.cli.database import ask

            settings = with_database(load_settings({name: given.pop(name) for name in (*DATABASE, "config")}))
            answer = ask(settings, lambda connection: question(connection, **given))
            reply.give(answer.value, answer.text)
            if answer.note:
                reply.note(answer.note)

        made = click.command(name)(settings_options(DATABASE)(_with_json_last(run)))
        if group is not None:
            group.add_command(made)
        return made

    return decorate


def _with_json_last(run: Any) -> Any:
    """click has the parameters of a function in the reverse order of its help."""

    @json_option
    def alone() -> None: ...

    run.__click_params__ = [*alone.__click_params__, *getattr(run, "__click_params__", ())]  # type: ignore[attr-defined]
    return run


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


def changed(is_changed: bool, done: str, otherwise: str, **what: Any) -> Answer:
    """The answer of a command after which something is so, whether it was before or not."""
    return Answer({**what, "changed": is_changed}, done if is_changed else otherwise)


def shown(row: Any, attempts: Sequence[Any] | None = None, **more: Any) -> Answer:
    """All of one row, and its failed tries where it is shown with them; of ``more``, people see what there is."""
    fields = {name: getattr(row, name) for name in row.__dataclass_fields__}
    text = listing(fields | {name: value for name, value in more.items() if value})
    if attempts is None:
        return Answer({**fields, **more}, text)
    tries = "\n\n" + table(_ATTEMPT, cells(_ATTEMPT, attempts)) if attempts else ""
    return Answer({**fields, "attempts": attempts, **more}, text + tries)


def listed(page: Any, columns: Sequence[str], nothing: str, *, note: str | None = None) -> Answer:
    """A page as a table of these columns."""
    text = table(columns, cells(columns, page.items)) if page.items else nothing
    return Answer({"items": page.items, "next": page.next}, text, note)


def cells(columns: Sequence[str], rows: Sequence[Any]) -> list[list[Any]]:
    return [[getattr(row, name) for name in columns] for row in rows]


async def fill(
    pages: "Callable[[int, UUID | None], Awaitable[Page[_Row]]]", limit: int, after: "UUID | None"
) -> "tuple[Page[_Row], str | None]":
    """Reads pages until there are ``limit`` rows, for some seconds at most; then a note says where to continue."""
    from pgsched.store.lookup.rows import Page

    end = time.monotonic() + _SECONDS
    items: list[_Row] = []
    while True:
        page = await pages(limit - len(items), after)
        items += page.items
        if len(items) == limit or page.next is None:
            return Page(items=items, next=page.next), None
        if time.monotonic() > end:
            note = f"looked for {_SECONDS:g} seconds, and there is more to look at: go on with --after {page.next}"
            return Page(items=items, next=page.next), note
        after = page.next


def changes_in(given: Mapping[str, Any], example: str | None = None) -> dict[str, Any]:
    """The settings that flags give, and None for those that ``--clear`` resets. Raises InvalidInput if one is both
    given and cleared, and if there are none and an ``example`` is given for the message."""
    found = {name: value for name, value in given.items() if name != "clear" and value not in (None, ())}
    found |= {name: dict(found[name]) for name in ("options", "rules", "labels") if name in found}
    for flag in given.get("clear", ()):
        name = flag.replace("-", "_")
        if name in found:
            raise InvalidInput(f"--clear {flag} contradicts another flag: leave one of them out")
        found[name] = None
    if example and not found:
        raise InvalidInput(f"there is nothing to change: give at least one setting, such as {example}")
    return found
