"""Decorators that declare routes and their problem responses, and the OPTIONS handler, which lists a route's
methods."""

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

DRY_RUN = "A dry run, which only counts."
WHY = {
    400: "The request does not match this description.",
    401: "The key is missing, unknown, expired or revoked.",
    403: "The key lacks the scope, or is not for the client.",
    404: "Something that the request names does not exist; detail says what.",
    409: "The current state does not allow this; detail says why.",
    412: "The object has changed since the ETag in If-Match was read.",
    413: "The request is larger than 2 MiB.",
    415: "The body is not application/json, or, for a batch, not application/x-ndjson.",
    422: "The request is invalid; detail says what is expected.",
    429: "The key has exceeded its rate, or the queue is full. Wait for Retry-After, then retry.",
    431: "The request line and headers are larger than 64 KiB.",
    503: "The database cannot be reached or is not migrated. Retry.",
}


def problems(*statuses: int) -> dict[int, ResponseSpec]:
    """Returns a route's problem responses: those with the given statuses, and those that every route can return."""
    return {
        status: ResponseSpec(Problem, media_type=MEDIA_TYPE, generate_examples=False, description=WHY[status])
        for status in sorted({*statuses, 400, 401, 403, 422, 429, 431, 503})
    }


def _route(
    method: type[_Method], path: str, summary: str, *refusals: int, scope: str, everywhere: bool = False, **more: Any
) -> _Method:
    """Declares a route that requires a key with this scope and, with ``everywhere``, for all clients. ``refusals`` are
    the statuses of problems specific to this route."""
    given: dict[str, Any] = {"responses": problems(*refusals), "opt": {SCOPE: scope, EVERYWHERE: everywhere}}
    return method(path, summary=summary, **(given | more))


reads = partial(_route, get, scope="read")
"""A route that reads."""


def reads_version(path: str, summary: str, *refusals: int, **more: Any) -> get:
    """Declares a route that reads something with an ETag. The status is 304 if the client has the current version."""
    known = ResponseSpec(
        None, generate_examples=False, description="Not changed: If-None-Match contains the current ETag."
    )
    return _route(get, path, summary, responses={304: known, **problems(*refusals)}, scope="read", **more)


acts = partial(_route, post, status_code=200)
"""A route that performs an action on something that exists."""
sets = partial(_route, patch)
"""A route that changes the given fields."""
replaces = partial(_route, put)
"""A route that replaces something as a whole."""
removes = partial(_route, delete, status_code=200)
"""A route that removes something."""


settles = partial(_route, post, status_code=200, scope=PUBLIC, security=[{}])
"""A route that needs the token of an execution instead of a key."""


def makes(path: str, summary: str, *refusals: int, otherwise: tuple[Any, str] | None = None, **more: Any) -> post:
    """Declares a route that creates something, with the status 201. ``otherwise`` is the type and the description of
    the response with the status 200, if there is one."""
    responses = problems(*refusals)
    if otherwise is not None:
        kind, reason = otherwise
        responses[200] = ResponseSpec(kind, generate_examples=False, description=reason)
    return _route(post, path, summary, responses=responses, **more)


def made_at(location: str, answer: _Item) -> Response[_Item]:
    """Returns the response, with the location of the created object."""
    return Response(answer, headers={"Location": location})


def answering(paths: Collection[str]) -> HTTPRouteHandler:
    """Returns an OPTIONS handler for these paths. Litestar's own handler lists only the methods of one function."""

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
        request.app.asgi_router.handle_routing(request.scope["path"], "TRACE")  # no route has this method
    except MethodNotAllowedException as error:
        return allowed((error.headers or {}).get("allow", ""))
    return ""
