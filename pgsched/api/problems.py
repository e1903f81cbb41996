"""Turns every error into a problem document (RFC 9457). The document's ``code`` comes from a class in
``pgsched.errors``, and its ``detail`` says what to write instead."""

from http import HTTPStatus
from typing import Any, Literal, Self, get_args, get_origin

import msgspec
from litestar import Request, Response
from litestar.exceptions import HTTPException, ValidationException

from pgsched import errors
from pgsched.errors import InvalidInput, PgschedError
from pgsched.telemetry import Events

MEDIA_TYPE = "application/problem+json"
_STATUS: list[tuple[type[PgschedError], int]] = [
    (InvalidInput, 422),
    (errors.NotFound, 404),
    (errors.Conflict, 409),
    (errors.StaleLease, 409),
    (errors.Refused, 403),
    (errors.Unauthenticated, 401),
    (errors.QueueFull, 429),
    (errors.TooManyRequests, 429),
    (errors.SchemaMismatch, 503),
    (errors.Unavailable, 503),
]
_KIND: dict[int, type[PgschedError]] = {
    404: errors.NotFound,
    412: errors.Conflict,
    413: errors.InvalidPayload,
    500: PgschedError,
}


class Fault(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A fault and its place: a JSON pointer into the body (or into one of its lines), or the name of a parameter."""

    detail: str
    line: int | None = None
    pointer: str | None = None
    parameter: str | None = None


class Problem(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A problem document."""

    type: str
    title: str
    status: int
    detail: str
    instance: str
    code: str
    errors: list[Fault] | None = None


class Unreadable(InvalidInput):
    """The request does not match the API's description."""

    def __init__(self, detail: str, *, status: int = 400, faults: list[Fault] | None = None) -> None:
        super().__init__(detail)
        self.status = status
        self.faults = faults

    @classmethod
    def parameter(cls, name: str, detail: object, *, status: int = 400) -> Self:
        """The error for a parameter or header that does not match the description."""
        return cls(f"{name}: {detail}", status=status, faults=[Fault(parameter=name, detail=str(detail))])


Answer = Response[Problem]
AnyRequest = Request[Any, Any, Any]


def refused(request: AnyRequest, error: PgschedError) -> Answer:
    """The response for a PgschedError."""
    status = status_of(error)
    if isinstance(error, Unreadable):
        return _answer(request, status, _KIND.get(status, InvalidInput), str(error), error.faults)
    answer = _answer(request, status, type(error), str(error))
    if status == 401:
        problem = ', error="invalid_token"' if "authorization" in request.headers else ""
        answer.headers["WWW-Authenticate"] = f'Bearer realm="pgsched"{problem}'
    elif scope := getattr(error, "scope", None):
        answer.headers["WWW-Authenticate"] = f'Bearer realm="pgsched", error="insufficient_scope", scope="{scope}"'
    return answer


def status_of(error: PgschedError) -> int:
    """The HTTP status for an error."""
    if isinstance(error, Unreadable):
        return error.status
    return next((status for kind, status in _STATUS if isinstance(error, kind)), 500)


def refused_by_litestar(request: AnyRequest, error: HTTPException) -> Answer:
    """Returns the response to a request that Litestar refuses, for example because of an unknown route."""
    match error:
        case ValidationException(extra=[*faults]):
            found = [_fault(request, fault) for fault in faults]
            detail = "; ".join(f"{fault.parameter}: {fault.detail}" for fault in found)
            return _answer(request, 400, InvalidInput, detail, found)
        case HTTPException(status_code=404):
            detail = f"there is nothing at {request.url.path}: the routes are in /schema/openapi.json"
        case HTTPException(status_code=405):
            detail = f"{request.method} is not allowed here: the methods are in /schema/openapi.json"
        case HTTPException(status_code=413):
            detail = "the request is over the limit of 2 MiB: schedule a reference to the data instead"
        case _:
            detail = error.detail
    answer = _answer(request, error.status_code, _KIND.get(error.status_code, InvalidInput), detail)
    if methods := (error.headers or {}).get("allow"):
        answer.headers["Allow"] = allowed(methods)
    return answer


def allowed(methods: str) -> str:
    """Adds HEAD to the methods that Litestar lists for a route, if they include GET."""
    found = methods.split(", ")
    return ", ".join([*found, "HEAD"] if "GET" in found and "HEAD" not in found else found)


def failed(events: Events, request: AnyRequest, error: Exception) -> Answer:
    """The response for an unexpected error. It reveals no details; the event ``api.failed`` has them."""
    route = f"{request.method} {request.scope.get('path_template', '')}"
    events.emit("api.failed", route=route, error=f"{type(error).__name__}: {error}"[:500])
    return _answer(request, 500, PgschedError, "this is a bug in pgsched: see the event api.failed in its log")


def _answer(
    request: AnyRequest, status: int, kind: type[PgschedError], detail: str, faults: list[Fault] | None = None
) -> Answer:
    problem = _problem(status, kind, detail, request.url.path, faults)
    headers = {"Retry-After": "1"} if status in {429, 503} else {}
    return Response(problem, status_code=status, media_type=MEDIA_TYPE, headers=headers)


def unread_problem(status: int, detail: str) -> Problem:
    """The problem document for a request that is refused before it is read."""
    return _problem(status, InvalidInput, detail, instance="", faults=None)


def unread(status: int, detail: str) -> bytes:
    """Returns a raw HTTP/1.1 response to a request that cannot be read. The response closes the connection."""
    body = msgspec.json.encode(unread_problem(status, detail))
    head = f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\ncontent-type: {MEDIA_TYPE}\r\n"
    return f"{head}content-length: {len(body)}\r\nconnection: close\r\n\r\n".encode() + body


def _problem(status: int, kind: type[PgschedError], detail: str, instance: str, faults: list[Fault] | None) -> Problem:
    named = next(base for base in kind.__mro__ if "code" in vars(base))
    title = (named.__doc__ or HTTPStatus(status).phrase).partition(";")[0].partition(":")[0].strip(" .\n")
    return Problem(
        type=f"urn:pgsched:problem:{kind.code.removeprefix('pgsched.')}",
        title=title,
        status=status,
        detail=detail or title,
        instance=instance,
        code=kind.code,
        errors=faults,
    )


def parameters_of(handler: Any) -> dict[str, Any]:
    """The parameters of a route and of its dependencies."""
    given = [provided.parsed_fn_signature for provided in handler.resolve_dependencies().values()]
    return {name: field for part in (*given, handler.parsed_fn_signature) for name, field in part.parameters.items()}


def _fault(request: AnyRequest, fault: Any) -> Fault:
    name, message = str(fault.get("key", "")), str(fault.get("message", fault))
    field = parameters_of(request.route_handler).get(name)
    if field is not None:
        message += _choices(field.annotation)
        name = getattr(field.kwarg_definition, "name", None) or name
    if message == "Invalid UUID":
        message = "not an id; write one such as 0198c5a4-7b1e-7c3a-9f52-3d1f0a6e2b47"
    return Fault(parameter=name, detail=message.replace("`", ""))


def _choices(annotation: Any) -> str:
    """Returns a phrase for an error message, which lists the choices of every Literal in the annotation."""
    if get_origin(annotation) is Literal:
        return f"; write one of {', '.join(get_args(annotation))}"
    return "".join(map(_choices, get_args(annotation)))
