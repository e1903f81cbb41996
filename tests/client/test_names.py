"""A method sends any name safely: route, path, query and body are the same as for a plain name, with the name
substituted."""

import inspect
import uuid
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any, get_args

import httpx
import msgspec
import pytest
import pytest_asyncio

from pgsched.api.request_reading import ApiRequest
from pgsched.client import AsyncClient, Client, Ticket
from pgsched.errors import InvalidInput, PgschedError
from tests.api.conftest import app_of
from tests.api.serving import serving
from tests.names import NAMES

_NAMED = {"client", "name", "queue", "key", "ordering_key", "host", "kind"}
"""Parameters that hold names, in the path, the query or the body."""
_GIVEN: dict[str, Any] = {
    "target": "python:note",
    "fire_at": "2040-01-01T00:00:00Z",
    "start": "2040-01-01T00:00:00Z",
    "end": "2040-01-02T00:00:00Z",
    "value": "hush",
    "error": "no",
    "verb": "cancel",
    "message": Ticket(id=uuid.UUID(int=7), token=1),
}
_PLAIN = "plain"


def _methods() -> dict[str, list[str]]:
    """Maps each method that takes names to the parameters that hold them."""
    found = {}
    for name, method in inspect.getmembers(AsyncClient, inspect.iscoroutinefunction):
        named = [one for one in _parameters(method) if one in _NAMED]
        if named and not name.startswith("_"):
            found[name] = named
    return found


def _parameters(method: Any) -> dict[str, bool]:
    """Maps each parameter of a method to whether it is required."""
    found = dict[str, bool]()
    for name, about in list(inspect.signature(method).parameters.items())[1:]:
        if about.kind is about.VAR_KEYWORD:
            found |= dict.fromkeys(get_args(about.annotation)[0].__annotations__, False)
        else:
            found[name] = about.default is about.empty
    return found


class Recorder:
    """An ASGI application that records how each request was routed."""

    def __init__(self, app: Any) -> None:
        self._app, self.seen = app, list[tuple[Any, ...]]()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        bodies = []

        async def listen() -> Any:
            bodies.append(message := await receive())
            return message

        await self._app(scope, listen, send)
        request = ApiRequest(scope)
        handler = scope.get("route_handler")
        body = b"".join(message.get("body", b"") for message in bodies)
        self.seen.append((handler and handler.fn.__name__, request.path_params, request.query_params.dict(), body))


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def recorder(module_url: str) -> AsyncIterator[Recorder]:
    app = app_of(module_url)
    async with serving(app):
        yield Recorder(app)


async def _asked(recorder: Recorder, method: str, name: str) -> tuple[Any, ...]:
    """Calls ``method`` with ``name`` and returns the recorded request."""
    recorder.seen.clear()
    called = getattr(AsyncClient, method)
    given = {}
    for parameter, is_needed in _parameters(called).items():
        if parameter in _NAMED:
            given[parameter] = name
        elif is_needed:
            given[parameter] = _GIVEN.get(parameter, str(uuid.UUID(int=7)))
    transport = httpx.ASGITransport(recorder)
    async with AsyncClient("http://127.0.0.1", transport=transport, retries=0) as client:
        with suppress(PgschedError):
            await getattr(client, method)(**given)
    [(handler, *rest, body)] = recorder.seen
    assert handler is not None
    return handler, rest, msgspec.json.decode(body) if body else None


def test_the_tested_methods_cover_each_kind_of_name() -> None:
    assert {"drop_client", "put_secret", "get_limit", "unblock", "claim", "schedule", "pause_queue"} <= {*_methods()}


def _renamed(found: Any, name: str) -> Any:
    """Replaces the plain name with ``name`` throughout."""
    match found:
        case dict():
            return {key: _renamed(value, name) for key, value in found.items()}
        case tuple() | list():
            return [_renamed(value, name) for value in found]
    return name if found == _PLAIN else found


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("method", _methods())
async def test_names_with_special_characters_reach_the_right_resource(method: str, recorder: Recorder) -> None:
    plain = await _asked(recorder, method, _PLAIN)
    for name in NAMES:
        assert _renamed(await _asked(recorder, method, name), name) == _renamed(plain, name)


@pytest.mark.parametrize("method", ["drop_client", "hold_client", "drop_queue", "list_secrets"])
def test_an_empty_name_is_refused_before_it_is_sent(method: str) -> None:
    with Client("http://127.0.0.1:1") as client, pytest.raises(InvalidInput, match="empty"):
        getattr(client, method)("")


@pytest.mark.parametrize("name", ["\ud800", "a\x00"])
def test_a_name_that_is_not_text_is_refused_before_it_is_sent(name: str) -> None:
    with Client("http://127.0.0.1:1") as client:
        with pytest.raises(InvalidInput):
            client.drop_client(name)
        with pytest.raises(InvalidInput):
            client.list_jobs(client=name)
