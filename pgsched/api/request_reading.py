"""Reads and checks requests before they reach a route. Unknown parameters and fields are refused rather than ignored.

An ASGI server passes on a decoded path, in which a / inside a name looks like a separator. So the raw path is parsed
again: its quoted parts are matched to a route, and then decoded. If the path names a job or an execution by its key,
the key is replaced with the id.
"""

import re
from functools import cache
from typing import Any, Final, get_args
from urllib.parse import quote, unquote, unquote_to_bytes
from uuid import UUID

import msgspec
from litestar import Litestar, Request
from litestar.params import QueryParameter
from litestar.typing import FieldDefinition
from litestar.utils.typing import make_non_optional_union

from pgsched.api.access import PUBLIC, SCOPE, check_clients, grant_of
from pgsched.api.problems import Fault, Unreadable, parameters_of
from pgsched.domain.id_or_key import id_or_key
from pgsched.store.lookup.named import Kind, id_of

KINDS: Final[dict[str, Kind]] = {"job_id": "job", "execution_id": "execution"}
"""The path parameters that may be keys."""
_PATH = re.compile(r"^(?P<what>.*) - at `\$(?P<path>.*)`$", re.DOTALL)
_STEP = re.compile(r"\.(\w+)|\[(\d+|\.\.\.)\]")


class Application(Litestar):
    """Litestar, except that each part of a path counts as one name, even if it contains a quoted /."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            scope["path"] = quoted_path(scope)
            if scope["method"] == "HEAD":
                await self._answer_head(scope, receive, send)
                return
        await super().__call__(scope, receive, send)

    async def _answer_head(self, scope: Any, receive: Any, send: Any) -> None:
        """Handles HEAD as GET without the body. Reports a disconnect after the head, so that a stream ends."""
        inner, is_sent = scope | {"method": "GET"}, False

        async def listen() -> Any:
            return {"type": "http.disconnect"} if is_sent else await receive()

        async def send_head(message: Any) -> None:
            nonlocal is_sent
            if message["type"] == "http.response.start":
                scope["path_template"] = inner.get("path_template")
                await send(message)
                await send({"type": "http.response.body", "body": b"", "more_body": False})
                is_sent = True

        await super().__call__(inner, listen, send_head)


def quoted_path(scope: Any) -> str:
    """Returns the path as it was sent, with the quoting of each part normalised."""
    sent = scope["raw_path"].decode("ascii")
    return "/".join(quote(unquote_to_bytes(part), safe="") for part in sent.split("/"))


class ApiRequest(Request[Any, Any, Any]):
    """Decodes the body as the type that the route expects, and each part of the path as a name."""

    @property
    def path_params(self) -> dict[str, Any]:
        """The decoded path parameters. Raises Unreadable if the path is not UTF-8."""
        try:
            found = {
                name: unquote(value, errors="strict") if isinstance(value, str) else value
                for name, value in super().path_params.items()
            }
        except UnicodeDecodeError:
            raise Unreadable("the path is not UTF-8: encode it as UTF-8 before percent-encoding it") from None
        if any("\x00" in str(name) for name in found.values()):
            raise Unreadable("the path contains a NUL character: remove %00", status=422)
        return found

    def check_type(self, wanted: str) -> None:
        """Raises Unreadable unless the body has this media type."""
        media_type = self.headers.get("content-type", "").partition(";")[0].strip().lower()
        if media_type != wanted:
            sent = f"it is {media_type[:80]!r}" if media_type else "it is missing"
            raise Unreadable(f"set the header Content-Type to {wanted}; {sent}", status=415)

    async def json(self) -> Any:
        self.check_type("application/json")
        found = read_body(await self.body(), _expected(self.route_handler.parsed_data_field))
        check_clients(
            grant_of(self), [getattr(part, "client", None) for part in (found, getattr(found, "filter", None))]
        )
        return found


def _expected(field: FieldDefinition | None) -> Any:
    """Returns the type of a body that is not omitted. An optional body may be omitted, but must not be ``null``."""
    if field is None:
        return Any
    return make_non_optional_union(field.annotation) if field.is_optional else field.annotation


def read_body(body: bytes, expected: Any) -> Any:
    """Decodes the body as ``expected``. Raises Unreadable, which names the faulty place and what to write there."""
    try:
        body.decode("utf-8")
        return _decoder(expected).decode(body)
    except msgspec.ValidationError as error:
        raise _misfit(str(error), expected) from None
    except RecursionError:
        raise Unreadable("the body is nested too deeply: use fewer levels of lists and objects") from None
    except UnicodeDecodeError:
        raise Unreadable("the body is not UTF-8: encode it as UTF-8") from None
    except msgspec.DecodeError as error:
        raise Unreadable(f"the body is not JSON: {error}; write it as RFC 8259 defines") from None


async def check_request(request: Request[Any, Any, Any]) -> None:
    """Refuses clients that the API key does not cover, and unknown or repeated parameters and unexpected bodies, which
    would otherwise be ignored. Replaces a job's or an execution's key in the path with the id."""
    if request.method == "OPTIONS":  # lists the methods, even if the named object does not exist
        return
    await check_parameters(request)
    await _check_body(request)
    await put_id(request)


async def check_query(request: Request[Any, Any, Any]) -> None:
    """Raises Unreadable if the query is not UTF-8, because it would be decoded to the wrong characters."""
    query: bytes = request.scope["query_string"]
    try:
        unquote_to_bytes(query).decode()
    except UnicodeDecodeError:
        raise Unreadable("the query is not UTF-8: encode it as UTF-8 before percent-encoding it") from None
    if not query.isascii():
        raise Unreadable("the query contains characters that are not ASCII: percent-encode them")


async def check_parameters(request: Request[Any, Any, Any]) -> None:
    """Checks everything but the body, for routes that read their bodies themselves."""
    await check_query(request)
    if not all(request.scope["raw_path"].split(b"/")[1:]):  # the next part would be taken for the missing name
        raise Unreadable("a segment of the path is empty: give the name that is missing there", status=404)
    check_clients(grant_of(request), [request.path_params.get("client"), *request.query_params.getall("client", [])])
    known, texts = _query_names(request.route_handler)
    if key_in(request) is not None:
        known, texts = known | {"client": False}, texts | {"client"}
    seen: set[str] = set()
    for name, value in request.query_params.multi_items():
        status, detail = 400, None
        if name not in known:
            choice = f"the parameters are {', '.join(sorted(known))}" if known else "this route has no parameters"
            detail = f"unknown parameter; {choice}"
        elif name in seen and not known[name]:
            detail = "is given twice; give it once"
        elif value == "" or (value.lower() == "null" and name not in texts):
            # A variable is probably unset in the caller, which did not mean to omit this filter.
            detail = "has no value; give a value, or leave the parameter out"
        elif "\x00" in str(value):
            status, detail = 422, "contains a NUL character; remove %00"
        if detail:
            raise Unreadable.parameter(name[:80], detail, status=status)
        seen.add(name)


async def _check_body(request: Request[Any, Any, Any]) -> None:
    field = request.route_handler.parsed_data_field
    body = await request.body()
    if field is None and body.strip() not in {b"", b"{}"}:
        raise Unreadable("this route takes no body: send none")
    if field is not None and not field.is_optional and not body:
        raise Unreadable("the request has no body: send JSON as described in /schema/openapi.json")


@cache
def _decoder(expected: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(expected)


@cache
def _query_names(handler: Any) -> tuple[dict[str, bool], frozenset[str]]:
    """Returns the names of a route's query parameters, each with a flag that is True if the parameter may be repeated.
    Also returns the names of the parameters that accept any text."""
    names, texts = dict[str, bool](), set[str]()
    for field in parameters_of(handler).values():
        found = field.kwarg_definition
        if isinstance(found, QueryParameter) and found.name:
            names[found.name] = any(kind.is_non_string_collection for kind in (field, *field.inner_types))
            if any(kind.annotation is str for kind in (field, *field.inner_types)):
                texts.add(found.name)
    return names, frozenset(texts)


def _misfit(message: str, expected: Any) -> Unreadable:
    found = _PATH.match(message)
    what, path = (found["what"], found["path"]) if found else (message, "")
    steps = [step[0] or step[1] for step in _STEP.findall(path)]
    detail = what.replace("`", "")
    if "unknown field" in detail:
        detail += f"; the fields are {', '.join(_fields(expected, steps))}"
    place = ".".join(steps)
    pointer = "#" + "".join(f"/{step}" for step in steps)
    return Unreadable(f"{place}: {detail}" if place else detail, faults=[Fault(pointer=pointer, detail=detail)])


def _fields(expected: Any, steps: list[str]) -> list[str]:
    """Returns the field names of the structure at ``steps``."""
    struct = next((kind for kind in (expected, *get_args(expected)) if hasattr(kind, "__struct_fields__")), None)
    if struct is None:
        return []
    fields = {field.encode_name: field.type for field in msgspec.structs.fields(struct)}
    return _fields(fields.get(steps[0]), steps[1:]) if steps else list(fields)


def key_in(request: Request[Any, Any, Any]) -> tuple[str, str] | None:
    """Returns the name and value of the path parameter that contains a key, or None if there is none. Routes that need
    only an execution's token look up no keys, so the result for them is None."""
    if request.route_handler.opt.get(SCOPE) == PUBLIC:
        return None
    for part in request.path_params.keys() & KINDS.keys():
        if isinstance(key := id_or_key(request.path_params[part]), str):
            return part, key
    return None


async def put_id(request: Request[Any, Any, Any]) -> None:
    """Replaces a key in the path with the id. Raises NotFound, and InvalidInput if several clients use the key."""
    if (found := key_in(request)) is not None:
        part, key = found
        id = await _id_of(request, _kind(request, part), key)
        # The dictionary is copied because Litestar shares it among all requests with this path.
        request.scope["path_params"] = {**request.scope["path_params"], part: str(id)}


async def _id_of(request: Request[Any, Any, Any], kind: Kind, key: str) -> UUID:
    client = request.query_params.get("client")
    clients = grant_of(request).clients if client is None else [client]
    async with request.app.state.parts.acting(request).connection() as connection:
        return await id_of(connection, kind, key, clients)


def _kind(request: Request[Any, Any, Any], part: str) -> Kind:
    template = str(request.scope["path_template"])
    if template.startswith("/v1/dead-letters") or template.endswith("/retry"):
        return "dead letter"
    return "job or execution" if (request.method, part) == ("DELETE", "job_id") else KINDS[part]
