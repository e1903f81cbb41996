"""Jobs and executions that a path names by a key instead of an id."""

from typing import Any, Final
from uuid import UUID

from litestar import Request

from pgsched.api.access import PUBLIC, SCOPE, grant_of
from pgsched.domain.naming import id_or_key
from pgsched.store.lookup.named import Kind, id_of

KINDS: Final[dict[str, Kind]] = {"job_id": "job", "execution_id": "execution"}
"""The parts of paths that may be keys."""


def key_in(request: Request[Any, Any, Any]) -> tuple[str, str] | None:
    """The name of the part of the path that is a key, and the key; None where there is none. Where the token of an
    execution is all that is asked for, nothing is looked up."""
    if request.route_handler.opt.get(SCOPE) == PUBLIC:
        return None
    for part in request.path_params.keys() & KINDS.keys():
        if isinstance(key := id_or_key(request.path_params[part]), str):
            return part, key
    return None


async def put_id(request: Request[Any, Any, Any]) -> None:
    """Puts the id in the place of the key. Raises NotFound, and InvalidInput where it may be several clients' key."""
    if (found := key_in(request)) is not None:
        part, key = found
        id = await _id_of(request, _kind(request, part), key)
        # Litestar has one object for all requests with this path.
        request.scope["path_params"] = {**request.scope["path_params"], part: str(id)}


async def _id_of(request: Request[Any, Any, Any], kind: Kind, key: str) -> UUID:
    client = request.query_params.get("client")
    clients = grant_of(request).clients if client is None else [client]
    async with request.app.state.acting(request).connection() as connection:
        return await id_of(connection, kind, key, clients)


def _kind(request: Request[Any, Any, Any], part: str) -> Kind:
    template = str(request.scope["path_template"])
    if template.startswith("/v1/dead-letters") or template.endswith("/retry"):
        return "dead letter"
    return "job or execution" if (request.method, part) == ("DELETE", "job_id") else KINDS[part]
