"""Listings on the command line: as many pages as fill what is to be shown, for some seconds at most."""

import time
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar
from uuid import UUID

from pgsched.cli.reply import Reply
from pgsched.settings import Settings
from pgsched.store.lookup.rows import Page

_SECONDS = 5.0
_Row = TypeVar("_Row")
_Pages = Callable[[Any, int, UUID | None], Awaitable[Page[_Row]]]


def look(settings: Settings, reply: Reply, pages: _Pages[_Row], *, limit: int, after: UUID | None) -> Page[_Row]:
    """``limit`` rows, or what was found in that time; then a note says where to go on."""
    from pgsched.cli.database import ask

    found = ask(settings, lambda connection: _fill(connection, pages, limit, after))
    if len(found.items) < limit and found.next is not None:
        reply.note(f"looked for {_SECONDS:g} seconds, and there is more to look at: go on with --after {found.next}")
    return found


async def _fill(connection: Any, pages: _Pages[_Row], limit: int, after: UUID | None) -> Page[_Row]:
    end = time.monotonic() + _SECONDS
    items: list[_Row] = []
    while True:
        page = await pages(connection, limit - len(items), after)
        items += page.items
        if len(items) == limit or page.next is None or time.monotonic() > end:
            return Page(items=items, next=page.next)
        after = page.next
