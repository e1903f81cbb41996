"""The answers of commands on the database, as JSON and for people."""

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar
from uuid import UUID

from pgsched.api_responses import Page
from pgsched.cli.reply import Reply, listing, table
from pgsched.errors import InvalidInput

_Row = TypeVar("_Row")
_SECONDS = 5.0
_PAGE = 500
"""Most rows that the API answers with at once."""
_IF_ANY = ("waits_for", "progress")
_ATTEMPT = ("attempt", "finished_at", "duration", "status_code", "error")


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of a command: ``value`` as JSON, or ``text``; with a ``note`` on standard error. ``then`` is what is
    done after it was given."""

    value: Mapping[str, Any]
    text: str
    note: str | None = None
    then: Callable[[Reply], None] | None = None


def changed(is_changed: bool, done: str, otherwise: str, **what: Any) -> Answer:
    """The answer of a command that makes something so, and says whether it was not so before."""
    return Answer({**what, "changed": is_changed}, done if is_changed else otherwise)


def edited(id: UUID, is_changed: bool, fire_at: datetime | None, fires: str) -> Answer:
    """The answer of a command that edits something, which ``fires`` at this instant now."""
    following = f", {fires} {fire_at.isoformat()}" if fire_at else ""
    text = f"changed{following}" if is_changed else "was so before"
    return Answer({"id": id, "changed": is_changed, "fire_at": fire_at}, text)


def shown(row: Any) -> Answer:
    """One row in full, with its failed attempts where it has a list of them, and the traceback of the last."""
    fields = {name: getattr(row, name) for name in row.__dataclass_fields__}
    attempts = fields.pop("attempts", None)
    text = listing({name: value for name, value in fields.items() if value or name not in _IF_ANY})
    if attempts is None:
        return Answer(fields, text)
    tries = "\n\n" + table(_ATTEMPT, cells(_ATTEMPT, attempts)) if attempts else ""
    traceback = "\n\n" + attempts[-1].traceback.rstrip() if attempts and attempts[-1].traceback else ""
    return Answer({**fields, "attempts": attempts}, text + tries + traceback)


async def listed(
    pages: Callable[..., Awaitable[Page[_Row]]], limit: int, after: Any, columns: Sequence[str], nothing: str
) -> Answer:
    """What a listing finds, as ``fill`` reads it, as a table of these columns."""
    page, note = await fill(pages, limit, after)
    return tabled(page, columns, nothing, note)


def tabled(page: Page[_Row], columns: Sequence[str], nothing: str, note: str | None = None) -> Answer:
    """A page as a table of these columns."""
    text = table(columns, cells(columns, page.items)) if page.items else nothing
    return Answer({"items": page.items, "next": page.next}, text, note)


def cells(columns: Sequence[str], rows: Sequence[Any]) -> list[list[Any]]:
    return [[getattr(row, name) for name in columns] for row in rows]


async def fill(pages: Callable[..., Awaitable[Page[_Row]]], limit: int, after: Any) -> tuple[Page[_Row], str | None]:
    """Reads pages until there are ``limit`` rows, for some seconds at most; then a note says where to continue."""
    end = time.monotonic() + _SECONDS
    items: list[_Row] = []
    while True:
        page = await pages(limit=min(limit - len(items), _PAGE), after=after)
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
    for flag in given.get("clear", ()):
        name = flag.replace("-", "_")
        if name in found:
            raise InvalidInput(f"--clear {flag} contradicts another flag: leave one of them out")
        found[name] = None
    if example and not found:
        raise InvalidInput(f"there is nothing to change: give at least one setting, such as {example}")
    return found
