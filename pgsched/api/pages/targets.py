"""*Targets*: the hosts that fail, those that recover, and those that somebody has sidelined; and the ordering keys that
wait for a decision."""

from typing import Any

from litestar import Request, Response

from pgsched.api.access import check_clients, grant_of
from pgsched.api.gates import OrderingKey, Sidelining, TargetHost
from pgsched.api.pages.forms import Text, cleared, field_of, id_in, link_to, sent, struct_of
from pgsched.api.pages.rendering import html
from pgsched.api.pages.routing import does, done, shows
from pgsched.api.parameters import Actor, Pooled
from pgsched.domain.schedule import instant_of
from pgsched.store import verbs
from pgsched.store.gates import blocked_keys, sidelined_targets

_PAGE = 20


@shows("/targets", scope="read")
async def show_targets(
    request: Request[Any, Any, Any], database: Pooled, client: Text = None, after: Text = None
) -> Response[Any]:
    asked = cleared(client=client)
    check_clients(grant_of(request), asked.values())
    async with database.page() as connection:
        how: Any = {"limit": _PAGE + 1, "client": asked.get("client"), "after": after or None}
        found = await sidelined_targets.sidelined(connection, **how)
    rows = found[:_PAGE]
    more = link_to(request, after=rows[-1].gate) if len(found) > _PAGE else None
    return html(request, "targets.html", rows=rows, asked=asked, more=more, begins=not after)


@does("/targets/sideline", scope="operate")
async def sideline_of_page(request: Request[Any, Any, Any], database: Pooled, actor: Actor) -> Response[Any]:
    form = await sent(request)
    given = struct_of(Sidelining, form, ("host", "client", "until", "note"), empty=False)
    field_of(form, "host")
    check_clients(grant_of(request), [given.client])
    until = instant_of(given.until, "until") if given.until is not None else None
    named: Any = {"client": given.client, "until": until, "note": given.note}
    changed = await database.ask(verbs.pause, "target", given.host, **named, actor=actor)
    return done("/targets", "sideline", changed=changed)


@does("/targets/restore", scope="operate")
async def restore_of_page(request: Request[Any, Any, Any], database: Pooled, actor: Actor) -> Response[Any]:
    form = await sent(request)
    given = struct_of(TargetHost, form, ("host", "client"), empty=False)
    check_clients(grant_of(request), [given.client])
    changed = await database.ask(verbs.resume, "target", given.host, client=given.client, actor=actor)
    return done("/targets", "restore", changed=changed)


@shows("/ordering-keys", scope="read")
async def show_ordering_keys(
    request: Request[Any, Any, Any], database: Pooled, client: Text = None, after: Text = None
) -> Response[Any]:
    asked = cleared(client=client)
    check_clients(grant_of(request), asked.values())
    async with database.page() as connection:
        how: Any = {"limit": _PAGE + 1, "client": asked.get("client"), "after": id_in("after", after)}
        found = await blocked_keys.blocked_keys(connection, **how)
    rows = found[:_PAGE]
    more = link_to(request, after=str(rows[-1].execution_id)) if len(found) > _PAGE else None
    return html(request, "ordering_keys.html", rows=rows, asked=asked, more=more, begins=not after)


@does("/ordering-keys/unblock", scope="operate")
async def unblock_of_page(request: Request[Any, Any, Any], database: Pooled, actor: Actor) -> Response[Any]:
    form = await sent(request)
    given = struct_of(OrderingKey, form, ("client", "ordering_key"))
    check_clients(grant_of(request), [given.client])
    changed = await database.ask(verbs.resume, "ordering_key", given.ordering_key, client=given.client, actor=actor)
    return done("/ordering-keys", "unblock", changed=changed)
