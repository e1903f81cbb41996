"""Forms whose action is one call to the database, on an object named in the path or in a field."""

from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import quote

from litestar import Response
from litestar.handlers import HTTPRouteHandler

from pgsched.api.access import check_clients, grant_of
from pgsched.api.pages.forms import instant_in, named, sent
from pgsched.api.pages.routing import does, done
from pgsched.api.parameters import Actor, Pooled
from pgsched.api.request_reading import ApiRequest
from pgsched.store.verbs import PausedKind


def does_to(verb: Callable[..., Awaitable[object]], path: str, says: str, **access: Any) -> HTTPRouteHandler:
    """Declares a form whose ``path`` contains the object's id. The form's action redirects to the object's page."""

    async def change(request: ApiRequest, database: Pooled, actor: Actor) -> Response[Any]:
        [id] = request.path_params.values()
        changed = await database.ask(verb, id, actor=actor)
        return done(request.url.path.rpartition("/")[0], says, changed=bool(changed))

    return does(path, **access)(change)


def changes(
    verb: Callable[..., Awaitable[bool]],
    kind: PausedKind,
    path: str,
    says: str,
    *,
    field: str,
    page: str,
    **access: Any,
) -> HTTPRouteHandler:
    """Declares a form that pauses or resumes the object named in ``field``, and redirects to ``page`` with a
    message."""

    async def change(request: ApiRequest, database: Pooled, actor: Actor) -> Response[Any]:
        form = await sent(request)
        given = form | {name: str(value) for name, value in request.path_params.items()}
        check_clients(grant_of(request), [given.get("client")])
        told: dict[str, Any] = {"note": given.get("note"), "until": instant_in("until", given.get("until"))}
        if field != "client":
            told["client"] = given.get("client")
        told = {name: value for name, value in told.items() if value}
        changed = await database.ask(verb, kind, named(field, given.get(field)), **told, actor=actor)
        where = page.format_map({name: quote(value, safe="") for name, value in given.items()})
        return done(where, says, changed=changed)

    return does(path, **access)(change)
