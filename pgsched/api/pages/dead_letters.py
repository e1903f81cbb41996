"""*Dead letters*: what failed for good, by its reason, to be replayed, changed or discarded."""

from typing import Any

from litestar import Request, Response

from pgsched.api.pages.filters import OF_LETTERS, filled, letter_filter
from pgsched.api.pages.forms import Text, link_to
from pgsched.api.pages.rendering import html
from pgsched.api.pages.routing import shows
from pgsched.api.parameters import Pooled, cursor, position
from pgsched.domain.states import LETTER_STATES
from pgsched.errors import InvalidInput
from pgsched.store.lookup import listings

_GROUPED = 1_000
"""The dead letters that are told apart by their reasons: the newest ones."""


@shows("/dead-letters", scope="read")
async def show_dead_letters(
    request: Request[Any, Any, Any], database: Pooled, letter_state: Text = None, after: Text = None
) -> Response[Any]:
    chosen = letter_state or "open"
    if chosen not in LETTER_STATES:
        raise InvalidInput(f"there is no state {chosen!r}: choose one of {', '.join(LETTER_STATES)}")
    asked = filled(request.query_params, OF_LETTERS)
    wanted = letter_filter(asked)
    async with database.page() as connection:
        how: Any = {"state": chosen, "limit": 50, "after": position(after or None)}
        found = await listings.list_dead_letters(connection, wanted, contents=False, **how)
        reasons = [] if after else await listings.reasons_of(connection, wanted, state=chosen, most=_GROUPED)
    return html(
        request,
        "dead_letters.html",
        rows=found.items,
        more=link_to(request, after=cursor(found.next)) if found.next else None,
        asked=asked,
        chosen=chosen,
        states=LETTER_STATES,
        reasons=reasons,
        grouped=sum(one.letters for one in reasons),
        most=_GROUPED,
        leads_to=lambda path, **changed: link_to(request, path, after=None, **changed),
        begins=not after,
    )
