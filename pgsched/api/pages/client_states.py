"""What keeps a client's executions from being delivered, beside what is set for it."""

from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import urlencode

from pgsched.api.pages.rendering import length, number
from pgsched.store.lookup.now import HELD, Edge, HeldOfClient

LATE = 10.0
"""Seconds for which something may be due and not begun before it counts as late."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hindrance:
    """What stands in the way, in a word and in a few; and the page that shows more of it."""

    word: str
    text: str
    link: str


def hindrances_of(edge: Edge, held: HeldOfClient, *, on_hold: bool) -> Iterator[Hindrance]:
    """All that stands in a client's way at this moment. What is late for no such reason is late."""
    found = list(_reasons(edge, held, "hold" if on_hold else "limit"))
    yield from found
    if not found and (edge.oldest_due or 0.0) > LATE:
        link = f"/executions?{urlencode({'client': held.client, 'status': 'scheduled', 'sort': 'oldest'})}"
        yield Hindrance(word="late", text=f"by {length(edge.oldest_due)}", link=link)


def _reasons(edge: Edge, held: HeldOfClient, by: str) -> Iterator[Hindrance]:
    if held.held:
        link = f"/executions?{urlencode({'client': held.client, 'status': 'held'})}"
        more = "+" if held.held >= HELD else ""
        yield Hindrance(word="held back", text=f"{number(held.held)}{more} by its {by}", link=link)
    if held.failing is not None:
        link = f"/targets?{urlencode({'client': held.client})}"
        yield Hindrance(word="failing", text=f"target {held.failing}", link=link)
    if edge.paused:
        more = "+" if edge.cut else ""
        yield Hindrance(word="paused", text=f"{number(edge.paused)}{more} due in paused queues", link="/queues")
