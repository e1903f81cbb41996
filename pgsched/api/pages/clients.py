"""*Clients*: each client's settings, and its due and running executions; forms to hold, release and tune a client."""

from collections.abc import Awaitable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar
from urllib.parse import urlencode

from litestar import Response

from pgsched.api.access import check_clients, grant_of
from pgsched.api.clients import ClientSettings
from pgsched.api.pages.forms import Text, named, place, sent, struct_of
from pgsched.api.pages.gate_descriptions import bounds
from pgsched.api.pages.now_snapshot import LATE, Live
from pgsched.api.pages.rendering import html, length, number
from pgsched.api.pages.routing import client_page, does, done, shows
from pgsched.api.pages.verb_forms import changes
from pgsched.api.parameters import Actor, Pooled
from pgsched.api.request_reading import ApiRequest
from pgsched.api_responses import page_of
from pgsched.errors import NotFound
from pgsched.store import verbs
from pgsched.store.admin import clients
from pgsched.store.gates import blocked_keys, limits, sidelined_targets
from pgsched.store.gates.sidelined_targets import COUNTED_OF_A_TARGET
from pgsched.store.lookup.now import HELD, Edge, HeldOfClient, held_of_clients

_PAGE, _SECTION, _OTHERS = 50, 20, 20
_NOTHING = Edge()
_Row = TypeVar("_Row")


def share_of(client: str, edges: Sequence[Edge], weights: Mapping[str, int]) -> dict[str, Any]:
    """Returns a client's share of all running executions (``has``), and its ``fair`` share by weight among the clients
    with due or running executions. ``has`` is None if nothing is running. ``fair`` is None if the client has no due or
    running executions. A client not in ``weights`` has weight 1."""
    edge = next((one for one in edges if one.client == client), _NOTHING)
    in_hand = sum(one.in_hand for one in edges)
    all_weights = sum(weights.get(str(one.client), 1) for one in edges)
    fair = weights.get(client, 1) / all_weights if edge is not _NOTHING else None
    return {"edge": edge, "has": edge.in_hand / in_hand if in_hand else None, "fair": fair}


class Hindrance(NamedTuple):
    """A reason why a client is held back: a one-word label, a short text, and a link to the page with details."""

    word: str
    text: str
    link: str


def hindrances_of(edge: Edge, held: HeldOfClient, *, on_hold: bool) -> Iterator[Hindrance]:
    """Yields all reasons why a client is currently held back; lateness only if there is no other reason."""
    found = list(_reasons(edge, held, "hold" if on_hold else "limit"))
    yield from found
    if not found and (edge.oldest_due or 0.0) > LATE:
        link = f"/executions?{urlencode({'client': held.client, 'status': 'scheduled', 'sort': 'oldest'})}"
        yield Hindrance("late", f"by {length(edge.oldest_due)}", link)


def _reasons(edge: Edge, held: HeldOfClient, by: str) -> Iterator[Hindrance]:
    if held.held:
        link = f"/executions?{urlencode({'client': held.client, 'status': 'held'})}"
        more = "+" if held.held >= HELD else ""
        yield Hindrance("held back", f"{number(held.held)}{more} by its {by}", link)
    if held.failing is not None:
        link = f"/targets?{urlencode({'client': held.client})}"
        yield Hindrance("failing", f"target {held.failing}", link)
    if edge.paused:
        more = "+" if edge.cut else ""
        yield Hindrance("paused", f"{number(edge.paused)}{more} due in paused queues", "/queues")


@shows("/clients", scope="read")
async def show_clients(
    request: ApiRequest, database: Pooled, live: Live, start: Text = None, after: Text = None
) -> Response[Any]:
    """Lists the clients that have settings (starting with the name ``start``), and those that are busy or held back."""
    start = (start or "").strip() or None
    edges = {one.client: one for one in await live.clients(grant_of(request)) if one.client is not None}
    busy = dict.fromkeys([*edges, *await live.held_clients(grant_of(request))])
    async with database.page() as connection:
        found = await clients.all_clients(connection, limit=_PAGE + 1, after=after or None, start=start)
        shown = page_of(found, _PAGE, lambda row: row.client)
        names = [row.client for row in shown.items]
        on_hold = {row.client for row in shown.items if row.state == "held"}
        others = [name for name in busy if name not in names][:_OTHERS] if not after else []
        held = await held_of_clients(connection, [*names, *others])
    return html(
        request,
        "clients.html",
        rows=shown.items,
        edges=edges,
        hindrances={
            name: list(hindrances_of(edges.get(name, _NOTHING), one, on_hold=name in on_hold))
            for name, one in held.items()
        },
        start=start or "",
        others=[edges.get(name, Edge(client=name)) for name in others],
        **place(request, after, shown.next),
    )


@shows("/client", scope="read")
async def show_client(request: ApiRequest, database: Pooled, live: Live, name: Text = None) -> Response[Any]:
    grant, client = grant_of(request), named("client", name)
    check_clients(grant, [client])
    edges = await live.clients(grant)
    async with database.connection() as connection:
        row = await _if_any(clients.get_client(connection, client))
        hosts = await sidelined_targets.sidelined(connection, limit=_SECTION, client=client)
        keys = await blocked_keys.blocked_keys(connection, limit=_SECTION, client=client)
        weights = await clients.weights(connection, [one.client for one in edges if one.client is not None])
        administers = grant.clients is None and "admin" in grant.scopes
        limit = await _if_any(limits.get_limit(connection, "client", client)) if administers else None
        held = await held_of_clients(connection, [client])
    share = share_of(client, edges, weights)
    counted = [held[client].held, *(one.held for one in hosts)]
    return html(
        request,
        "client.html",
        client=client,
        hindrances=list(hindrances_of(share["edge"], held[client], on_hold=row is not None and row.state == "held")),
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


async def _if_any(asked: Awaitable[_Row]) -> _Row | None:
    try:
        return await asked
    except NotFound:
        return None


_PAUSING: Any = {"field": "client", "page": "/client?name={client}", "scope": "operate"}
hold_client = changes(verbs.pause, "client", "/client/hold", "hold", **_PAUSING)
release_client = changes(verbs.resume, "client", "/client/release", "release", **_PAUSING)


@does("/client/settings", scope="admin")
async def set_client_of_page(request: ApiRequest, database: Pooled, actor: Actor) -> Response[Any]:
    """Saves the settings in the form; an empty field restores the default."""
    form = await sent(request)
    client = named("client", form.get("client"))
    check_clients(grant_of(request), [client])
    settings = struct_of(ClientSettings, form, ("weight", "keep", "dead_letter_target", "dead_letters_for"))
    changed = await database.ask(verbs.set_client, client, settings.changes(), actor=actor)
    return done(client_page(client), "set", changed=changed)
