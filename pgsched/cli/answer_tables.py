"""Formats the answers of commands, as JSON and as text."""

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
"""The maximum number of rows on a page of the API."""
_IF_ANY = ("waits_for", "progress")
_ATTEMPT = ("attempt", "finished_at", "duration", "status_code", "error")


@dataclass(frozen=True, slots=True)
class Answer:
    """A command's answer, which is printed as JSON (``value``) or as ``text``. ``note`` goes to standard error;
    ``then`` is called after the answer has been printed."""

    value: Mapping[str, Any]
    text: str
    note: str | None = None
    then: Callable[[Reply], None] | None = None


def changed(is_changed: bool, done: str, otherwise: str, **what: Any) -> Answer:
    """Returns the answer of an idempotent command: ``done`` if it changed something, or else ``otherwise``."""
    return Answer({**what, "changed": is_changed}, done if is_changed else otherwise)


def edited(id: UUID, is_changed: bool, fire_at: datetime | None, fires: str) -> Answer:
    """Returns the answer of an edit. ``fires`` is the phrase before the new instant, such as "fires at"."""
    following = f", {fires} {fire_at.isoformat()}" if fire_at else ""
    text = f"changed{following}" if is_changed else "unchanged"
    return Answer({"id": id, "changed": is_changed, "fire_at": fire_at}, text)


def shown(row: Any) -> Answer:
    """Shows all fields of a row, then a table of its attempts, if any, and the last attempt's traceback."""
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
    """Reads a listing with ``fill``, and shows it as a table with these columns."""
    page, note = await fill(pages, limit, after)
    return tabled(page, columns, nothing, note)


def tabled(page: Page[_Row], columns: Sequence[str], nothing: str, note: str | None = None) -> Answer:
    """Shows a page as a table with these columns."""
    text = table(columns, cells(columns, page.items)) if page.items else nothing
    return Answer({"items": page.items, "next": page.next}, text, note)


def cells(columns: Sequence[str], rows: Sequence[Any]) -> list[list[Any]]:
    return [[getattr(row, name) for name in columns] for row in rows]


async def fill(pages: Callable[..., Awaitable[Page[_Row]]], limit: int, after: Any) -> tuple[Page[_Row], str | None]:
    """Reads pages until there are ``limit`` rows, and returns the rows as one page. Stops early after 5 seconds, and
    then also returns a note that says how to continue."""
    end = time.monotonic() + _SECONDS
    items: list[_Row] = []
    while True:
        page = await pages(limit=min(limit - len(items), _PAGE), after=after)
        items += page.items
        if len(items) == limit or page.next is None:
            return Page(items=items, next=page.next), None
        if time.monotonic() > end:
            note = f"stopped searching after {_SECONDS:g} seconds: continue with --after {page.next}"
            return Page(items=items, next=page.next), note
        after = page.next


def changes_in(given: Mapping[str, Any], example: str | None = None) -> dict[str, Any]:
    """Returns the settings given as flags, with None for each setting that ``--clear`` resets.

    Raises InvalidInput if a setting is both given and cleared. With ``example``, which is shown in the message, also
    raises InvalidInput if there are no changes.
    """
    found = {name: value for name, value in given.items() if name != "clear" and value not in (None, ())}
    for flag in given.get("clear", ()):
        name = flag.replace("-", "_")
        if name in found:
            raise InvalidInput(f"--clear {flag} and the flag that sets it cannot be combined: leave one of them out")
        found[name] = None
    if example and not found:
        raise InvalidInput(f"there is nothing to change: give at least one setting, such as {example}")
    return found
