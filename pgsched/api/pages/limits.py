"""*Limits*: how many executions of a client, a host, a queue or a key may begin in a period or run at once."""

from collections.abc import Mapping
from typing import Any

from litestar import Request, Response

from pgsched.api.gates import Limit
from pgsched.api.pages.forms import Text, cleared, field_of, link_to, sent, struct_of
from pgsched.api.pages.rendering import html
from pgsched.api.pages.routing import client_page, does, done, shows
from pgsched.api.parameters import Actor, Pooled
from pgsched.domain.duration import parse_duration
from pgsched.domain.states import LIMIT_KINDS
from pgsched.errors import InvalidInput
from pgsched.store import verbs
from pgsched.store.admin import audit
from pgsched.store.gates import limits

_PAGE = 50


@shows("/limits", scope="admin", everywhere=True)
async def show_limits(
    request: Request[Any, Any, Any],
    database: Pooled,
    kind: Text = None,
    change: Text = None,
    after: Text = None,
) -> Response[Any]:
    """``change`` names one, as kind:name, that the form is filled in with."""
    asked = cleared(kind=kind)
    if (chosen := asked.get("kind")) not in {None, *LIMIT_KINDS}:
        raise InvalidInput(f"there is no kind {chosen!r}: choose one of {', '.join(LIMIT_KINDS)}")
    of_kind, _, name = (change or "").partition(":")
    async with database.page() as connection:
        found = await limits.all_limits(connection, limit=_PAGE + 1, after=after or None, kind=chosen)
        filled = await limits.get_limit(connection, of_kind, name) if name else None
        rows = found[:_PAGE]
        changed = await audit.last_changes(connection, "limit", [f"{row.kind}:{row.name}" for row in rows])
    return html(
        request,
        "limits.html",
        rows=rows,
        changed=changed,
        filled=filled,
        asked=asked,
        kinds=LIMIT_KINDS,
        more=link_to(request, after=f"{rows[-1].kind}:{rows[-1].name}") if len(found) > _PAGE else None,
        begins=not after,
    )


@does("/limits/set", scope="admin", everywhere=True)
async def set_limit_of_page(request: Request[Any, Any, Any], database: Pooled, actor: Actor) -> Response[Any]:
    """Takes the place of the limit there was, from this moment on."""
    form = await sent(request)
    given = struct_of(Limit, form, ("rate", "per", "burst", "concurrency"), empty=False)
    amount = {"rate": given.rate, "burst": given.burst, "concurrency": given.concurrency}
    kind, name = field_of(form, "kind"), field_of(form, "name")
    per = parse_duration(given.per)
    changed = await database.ask(verbs.set_limit, kind, name, per=per, **amount, actor=actor)
    return done(_page_of(form), "set", changed=changed)


@does("/limits/drop", scope="admin", everywhere=True)
async def drop_limit_of_page(request: Request[Any, Any, Any], database: Pooled, actor: Actor) -> Response[Any]:
    form = await sent(request)
    changed = await database.ask(verbs.drop_limit, field_of(form, "kind"), field_of(form, "name"), actor=actor)
    return done(_page_of(form), "drop", changed=changed)


def _page_of(form: Mapping[str, str]) -> str:
    """Where a form was: a client's page, or the list of limits."""
    is_of_client = form.get("from") == "client" and form.get("kind") == "client"
    return client_page(form["name"]) if is_of_client else "/limits"
