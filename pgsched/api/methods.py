"""OPTIONS: which methods a route has. Litestar's own answer names those of one of its functions."""

from collections.abc import Collection
from typing import Any

from litestar import HttpMethod, Request, Response, route
from litestar.exceptions import MethodNotAllowedException
from litestar.handlers import HTTPRouteHandler
from litestar.status_codes import HTTP_204_NO_CONTENT

from pgsched.api.access import PUBLIC, SCOPE
from pgsched.api.raw_paths import allowed


def answering(paths: Collection[str]) -> HTTPRouteHandler:
    """The handler of OPTIONS for all of these paths."""

    @route(
        sorted(paths),
        http_method=[HttpMethod.OPTIONS],
        status_code=HTTP_204_NO_CONTENT,
        include_in_schema=False,
        opt={SCOPE: PUBLIC},
    )
    async def methods(request: Request[Any, Any, Any]) -> Response[None]:
        return Response(None, status_code=HTTP_204_NO_CONTENT, headers={"Allow": _allowed(request)})

    return methods


def _allowed(request: Request[Any, Any, Any]) -> str:
    try:
        request.app.asgi_router.handle_routing(request.scope["path"], "TRACE")  # which no route has
    except MethodNotAllowedException as error:
        return allowed((error.headers or {}).get("allow", ""))
    return ""
