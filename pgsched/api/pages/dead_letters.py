"""*Dead letters*: what failed for good, to be replayed or discarded."""

from collections import Counter
from typing import Any

from litestar import Request, Response

from pgsched.api.pages.forms import Text, cleared, link_to
from pgsched.api.pages.rendering import html
from pgsched.api.pages.routing import shows
from pgsched.api.paging import cursor, position
from pgsched.api.parameters import Pooled
from pgsched.domain.states import LETTER_STATES
from pgsched.errors import InvalidInput
from pgsched.store.lookup import listings
from pgsched.store.lookup.rows import DeadLetterFilter

_OFTEN = 5


@shows("/dead-letters", scope="read")
async def show_dead_letters(
    request: Request[Any, Any, Any],
    database: Pooled,
    letter_state: Text = None,
    client: Text = None,
    host: Text = None,
    key: Text = None,
    reason: Text = None,
    after: Text = None,
) -> Response[Any]:
    asked = cleared(letter_state=letter_state or "open", client=client, host=host, key=key, reason=reason)
    chosen = asked["letter_state"]
    if chosen not in LETTER_STATES:
        raise InvalidInput(f"there is no state {chosen!r}: choose one of {', '.join(LETTER_STATES)}")
    named: Any = {name: asked.get(name) for name in ("client", "host", "key", "reason")}
    wanted = DeadLetterFilter(**named)
    async with database.page() as connection:
        how: Any = {"state": chosen, "limit": 50, "after": position(after or None)}
        found = await listings.list_dead_letters(connection, wanted, **how)
    more = link_to(request, after=cursor(found.next)) if found.next else None
    often = Counter((row.reason or "")[:80] for row in found.items).most_common(_OFTEN)
    return html(
        request,
        "dead_letters.html",
        rows=found.items,
        more=more,
        asked=asked,
        states=LETTER_STATES,
        often=often if len(often) > 1 else [],
        begins=not after,
    )
