"""*Clients*: what is set for each, and what it has due and in hand; held, released and tuned while everything runs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from litestar import Request, Response
from psycopg import AsyncConnection

from pgsched.api.access import check_clients, grant_of
from pgsched.api.clients import ClientSettings
from pgsched.api.pages.client_states import hindrances_of
from pgsched.api.pages.forms import Text, field_of, link_to, named, sent, struct_of
from pgsched.api.pages.holders import bounds
from pgsched.api.pages.now import Live
from pgsched.api.pages.rendering import html
from pgsched.api.pages.routing import client_page, does, done, shows
from pgsched.api.parameters import Actor, Pooled
from pgsched.errors import NotFound
from pgsched.store import verbs
from pgsched.store.admin import clients
from pgsched.store.admin.clients import ClientRow
from pgsched.store.gates import blocked_keys, limits, sidelined_targets
from pgsched.store.gates.limits import LimitRow
from pgsched.store.gates.sidelined_targets import COUNTED_OF_A_TARGET
from pgsched.store.lookup.now import HELD, Edge, held_of_clients

_PAGE, _SECTION, _OTHERS = 50, 20, 20
_NOTHING = Edge()


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientShare:
    """What a client has of all that is in hand, and what it would have by its weight among those that have something
    due or in hand; both as parts of one, None where nobody has any."""

    edge: Edge
    has: float | None
    fair: float | None


def share_of(client: str, edges: Sequence[Edge], weights: Mapping[str, int]) -> ClientShare:
    """``weights`` are those of the clients that something is set for; the others have 1."""
    edge = next((one for one in edges if one.client == client), _NOTHING)
    in_hand = sum(one.in_hand for one in edges)
    all_weights = sum(weights.get(str(one.client), 1) for one in edges)
    fair = weights.get(client, 1) / all_weights if edge is not _NOTHING else None
    return ClientShare(edge=edge, has=edge.in_hand / in_hand if in_hand else None, fair=fair)


@shows("/clients", scope="read")
async def show_clients(
    request: Request[Any, Any, Any], database: Pooled, live: Live, start: Text = None, after: Text = None
) -> Response[Any]:
    """Those that something is set for, from a name on; any other client has a page, too."""
    start = (start or "").strip() or None
    edges = {one.client: one for one in await live.clients(grant_of(request)) if one.client is not None}
    busy = dict.fromkeys([*edges, *await live.held_clients(grant_of(request))])
    async with database.page() as connection:
        found = await clients.all_clients(connection, limit=_PAGE + 1, after=after or None, start=start)
        rows = found[:_PAGE]
        names = [row.client for row in rows]
        on_hold = {row.client for row in rows if row.state == "held"}
        others = [name for name in busy if name not in names][:_OTHERS] if not after else []
        held = await held_of_clients(connection, [*names, *others])
    return html(
        request,
        "clients.html",
        rows=rows,
        edges=edges,
        hindrances={
            name: list(hindrances_of(edges.get(name, _NOTHING), one, on_hold=name in on_hold))
            for name, one in held.items()
        },
        start=start or "",
        others=[edges.get(name, Edge(client=name)) for name in others],
        more=link_to(request, after=rows[-1].client) if len(found) > _PAGE else None,
        begins=not after,
    )


@shows("/client", scope="read")
async def show_client(
    request: Request[Any, Any, Any], database: Pooled, live: Live, name: Text = None
) -> Response[Any]:
    grant, client = grant_of(request), named("client", name)
    check_clients(grant, [client])
    edges = await live.clients(grant)
    async with database.connection() as connection:
        row = await _row_of(connection, client)
        hosts = await sidelined_targets.sidelined(connection, limit=_SECTION, client=client)
        keys = await blocked_keys.blocked_keys(connection, limit=_SECTION, client=client)
        weights = await clients.weights(connection, [one.client for one in edges if one.client is not None])
        limit = await _limit_of(connection, client) if grant.clients is None and "admin" in grant.scopes else None
        held = await held_of_clients(connection, [client])
    share = share_of(client, edges, weights)
    counted = [held[client].held, *(one.held for one in hosts)]
    return html(
        request,
        "client.html",
        client=client,
        hindrances=list(hindrances_of(share.edge, held[client], on_hold=row is not None and row.state == "held")),
        row=row,
        hosts=hosts,
        keys=keys,
        limit=limit,
        bounds=bounds(limit.rate, limit.per, limit.concurrency) if limit is not None else [],
        held_back=sum(counted),
        more_held=counted[0] >= HELD or any(one >= COUNTED_OF_A_TARGET for one in counted),
        share=share,
        rivals=len(edges) if grant.clients is None else None,
    )


async def _row_of(connection: AsyncConnection[Any], client: str) -> ClientRow | None:
    try:
        return await clients.get_client(connection, client)
    except NotFound:
        return None


async def _limit_of(connection: AsyncConnection[Any], client: str) -> LimitRow | None:
    try:
        return await limits.get_limit(connection, "client", client)
    except NotFound:
        return None


@does("/client/hold", scope="operate")
async def hold_client_of_page(request: Request[Any, Any, Any], database: Pooled, actor: Actor) -> Response[Any]:
    form = await sent(request)
    client = _client_in(request, form)
    changed = await database.ask(verbs.pause, "client", client, note=form.get("note") or None, actor=actor)
    return done(client_page(client), "hold", changed=changed)


@does("/client/release", scope="operate")
async def release_client_of_page(request: Request[Any, Any, Any], database: Pooled, actor: Actor) -> Response[Any]:
    form = await sent(request)
    client = _client_in(request, form)
    changed = await database.ask(verbs.resume, "client", client, note=form.get("note") or None, actor=actor)
    return done(client_page(client), "release", changed=changed)


@does("/client/settings", scope="admin")
async def set_client_of_page(request: Request[Any, Any, Any], database: Pooled, actor: Actor) -> Response[Any]:
    """Sets the fields that the form has; an empty one is the default."""
    form = await sent(request)
    client = _client_in(request, form)
    settings = struct_of(ClientSettings, form, ("weight", "keep", "dead_letter_target", "dead_letters_for"))
    changed = await database.ask(clients.set_client, client, settings.changes(), actor=actor)
    return done(client_page(client), "set", changed=changed)


def _client_in(request: Request[Any, Any, Any], form: Mapping[str, str]) -> str:
    client = field_of(form, "client")
    check_clients(grant_of(request), [client])
    return client
