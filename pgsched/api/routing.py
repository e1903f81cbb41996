"""How routes are declared, with the problems that they may answer with; and OPTIONS, which names their methods."""

from collections.abc import Collection
from functools import partial
from typing import Any, TypeVar

from litestar import HttpMethod, Request, Response, delete, get, patch, post, put, route
from litestar.exceptions import MethodNotAllowedException
from litestar.handlers import HTTPRouteHandler
from litestar.openapi.datastructures import ResponseSpec

from pgsched.api.access import EVERYWHERE, PUBLIC, SCOPE
from pgsched.api.problems import MEDIA_TYPE, Problem, allowed

_Item = TypeVar("_Item")
_Method = TypeVar("_Method", delete, get, patch, post, put)

DRY_RUN = "A dry run: only counted."
WHY = {
    400: "The request does not match this description.",
    401: "The key is missing, unknown, expired or revoked.",
    403: "The key lacks the scope, or is not valid for the client.",
    404: "It does not exist.",
    409: "Its state does not allow this.",
    412: "It has been changed since it was read.",
    413: "The request is larger than 2 MiB.",
    415: "The body is not application/json, or, for a batch, not application/x-ndjson.",
    422: "The request is invalid; detail says what is expected.",
    429: "The key has exceeded its rate, or the queue is full. Retry after Retry-After.",
    431: "The request line and headers are larger than 64 KiB.",
    503: "The database cannot be reached or is not migrated. Retry.",
}


def problems(*statuses: int) -> dict[int, ResponseSpec]:
    """The problem documents that a route describes: these, and those that every route may answer with."""
    return {
        status: ResponseSpec(Problem, media_type=MEDIA_TYPE, generate_examples=False, description=WHY[status])
        for status in sorted({*statuses, 400, 401, 403, 422, 429, 431, 503})
    }


def _route(
    method: type[_Method], path: str, summary: str, *refusals: int, scope: str, everywhere: bool = False, **more: Any
) -> _Method:
    """A route for keys with this scope, and ``everywhere`` for those alone that are for all clients; ``refusals`` are
    the statuses of problems that not every route has."""
    given: dict[str, Any] = {"responses": problems(*refusals), "opt": {SCOPE: scope, EVERYWHERE: everywhere}}
    return method(path, summary=summary, **(given | more))


reads = partial(_route, get, scope="read")
"""A route that looks something up."""


def reads_version(path: str, summary: str, *refusals: int, **more: Any) -> get:
    """A route that looks up something with an ETag: 304 to whom it is known as it is."""
    known = ResponseSpec(None, generate_examples=False, description="It is as If-None-Match names it.")
    return _route(get, path, summary, responses={304: known, **problems(*refusals)}, scope="read", **more)


acts = partial(_route, post, status_code=200)
"""A route that does something with what is there."""
sets = partial(_route, patch)
"""A route that changes what is named."""
replaces = partial(_route, put)
"""A route that sets all of something."""
removes = partial(_route, delete, status_code=200)
"""A route that takes something away."""


settles = partial(_route, post, status_code=200, scope=PUBLIC, security=[{}])
"""A route for whoever has the token of an execution: no key is asked for."""


def makes(path: str, summary: str, *refusals: int, otherwise: tuple[Any, str] | None = None, **more: Any) -> post:
    """A route that makes something, and answers 201; or ``otherwise`` 200, with such an answer and for that reason."""
    responses = problems(*refusals)
    if otherwise is not None:
        kind, reason = otherwise
        responses[200] = ResponseSpec(kind, generate_examples=False, description=reason)
    return _route(post, path, summary, responses=responses, **more)


def made_at(location: str, answer: _Item) -> Response[_Item]:
    """201, and where to look up what was made."""
    return Response(answer, headers={"Location": location})


def answering(paths: Collection[str]) -> HTTPRouteHandler:
    """The handler of OPTIONS for all of these paths. Litestar's own names the methods of one of its functions."""

    @route(
        sorted(paths),
        http_method=[HttpMethod.OPTIONS],
        status_code=204,
        include_in_schema=False,
        opt={SCOPE: PUBLIC},
    )
    async def methods(request: Request[Any, Any, Any]) -> Response[None]:
        return Response(None, status_code=204, headers={"Allow": _allowed(request)})

    return methods


def _allowed(request: Request[Any, Any, Any]) -> str:
    try:
        request.app.asgi_router.handle_routing(request.scope["path"], "TRACE")  # which no route has
    except MethodNotAllowedException as error:
        return allowed((error.headers or {}).get("allow", ""))
    return ""
