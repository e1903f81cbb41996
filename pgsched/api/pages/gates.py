"""Pages about the gates that hold executions back.

*Limits* shows how many executions may start in a period or run at once. *Targets* lists the hosts that are failing,
recovering or sidelined by hand. *Ordering keys* lists the blocked keys, which wait for a decision.
"""

from collections.abc import Mapping
from typing import Any

from litestar import Response

from pgsched.api.access import check_clients, grant_of
from pgsched.api.gates import Limit
from pgsched.api.pages.forms import Text, cleared, id_in, named, place, sent, struct_of
from pgsched.api.pages.rendering import html
from pgsched.api.pages.routing import client_page, does, done, shows
from pgsched.api.pages.verb_forms import changes
from pgsched.api.parameters import Actor, Pooled
from pgsched.api.request_reading import ApiRequest
from pgsched.api_responses import page_of
from pgsched.domain.duration import parse_duration
from pgsched.domain.gate import LIMIT_KINDS
from pgsched.errors import InvalidInput
from pgsched.store import verbs
from pgsched.store.admin import audit
from pgsched.store.gates import blocked_keys, limits, sidelined_targets
from pgsched.store.gates.limits import LimitRow

_PAGE, _SMALL_PAGE = 50, 20


@shows("/limits", scope="admin", everywhere=True)
async def show_limits(
    request: ApiRequest,
    database: Pooled,
    kind: Text = None,
    change: Text = None,
    after: Text = None,
) -> Response[Any]:
    """Lists the limits. ``change`` is the kind:name of the limit to show in the form."""
    asked = cleared(kind=kind)
    if (chosen := asked.get("kind")) not in {None, *LIMIT_KINDS}:
        raise InvalidInput(f"there is no kind {chosen!r}: choose one of {', '.join(LIMIT_KINDS)}")
    of_kind, _, name = (change or "").partition(":")
    async with database.page() as connection:
        found = await limits.all_limits(connection, limit=_PAGE + 1, after=after or None, kind=chosen)
        filled = await limits.get_limit(connection, of_kind, name) if name else None
        shown = page_of(found, _PAGE, _name_of)
        changed = await audit.last_changes(connection, "limit", [_name_of(row) for row in shown.items])
    return html(
        request,
        "limits.html",
        rows=shown.items,
        changed=changed,
        filled=filled,
        asked=asked,
        kinds=LIMIT_KINDS,
        **place(request, after, shown.next),
    )


@does("/limits/set", scope="admin", everywhere=True)
async def set_limit_of_page(request: ApiRequest, database: Pooled, actor: Actor) -> Response[Any]:
    """Sets a limit, which replaces any previous one."""
    form = await sent(request)
    given = struct_of(Limit, form, ("rate", "per", "burst", "concurrency"), empty=False)
    amount = {"rate": given.rate, "burst": given.burst, "concurrency": given.concurrency}
    per = parse_duration(given.per)
    kind, name = named("kind", form.get("kind")), named("name", form.get("name"))
    changed = await database.ask(verbs.set_limit, kind, name, per=per, **amount, actor=actor)
    return done(_page_of(form), "set", changed=changed)


@does("/limits/drop", scope="admin", everywhere=True)
async def drop_limit_of_page(request: ApiRequest, database: Pooled, actor: Actor) -> Response[Any]:
    form = await sent(request)
    kind, name = named("kind", form.get("kind")), named("name", form.get("name"))
    changed = await database.ask(verbs.drop_limit, kind, name, actor=actor)
    return done(_page_of(form), "drop", changed=changed)


def _name_of(row: LimitRow) -> str:
    return f"{row.kind}:{row.name}"


def _page_of(form: Mapping[str, str]) -> str:
    """Returns the path of the client's page if the form came from there, or else of the list of limits."""
    is_of_client = form.get("from") == "client" and form.get("kind") == "client"
    return client_page(form["name"]) if is_of_client else "/limits"


@shows("/targets", scope="read")
async def show_targets(request: ApiRequest, database: Pooled, client: Text = None, after: Text = None) -> Response[Any]:
    asked = cleared(client=client)
    check_clients(grant_of(request), asked.values())
    async with database.page() as connection:
        how: Any = {"limit": _SMALL_PAGE + 1, "client": asked.get("client"), "after": after or None}
        found = await sidelined_targets.sidelined(connection, **how)
    shown = page_of(found, _SMALL_PAGE, lambda row: row.gate)
    return html(request, "targets.html", rows=shown.items, asked=asked, **place(request, after, shown.next))


_PAUSING: Any = {"field": "host", "page": "/targets", "scope": "operate"}
sideline = changes(verbs.pause, "target", "/targets/sideline", "sideline", **_PAUSING)
restore = changes(verbs.resume, "target", "/targets/restore", "restore", **_PAUSING)


@shows("/ordering-keys", scope="read")
async def show_ordering_keys(
    request: ApiRequest, database: Pooled, client: Text = None, after: Text = None
) -> Response[Any]:
    asked = cleared(client=client)
    check_clients(grant_of(request), asked.values())
    async with database.page() as connection:
        how: Any = {"limit": _SMALL_PAGE + 1, "client": asked.get("client"), "after": id_in("after", after)}
        found = await blocked_keys.blocked_keys(connection, **how)
    shown = page_of(found, _SMALL_PAGE, lambda row: row.execution_id)
    return html(request, "ordering_keys.html", rows=shown.items, asked=asked, **place(request, after, shown.next))


unblock = changes(
    verbs.resume,
    "ordering_key",
    "/ordering-keys/unblock",
    "unblock",
    field="ordering_key",
    page="/ordering-keys",
    scope="operate",
)
