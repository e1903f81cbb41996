"""Hostile query values: no route and no page answers them with a server error."""

import inspect
from collections import Counter
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, ClassVar

import httpx
import pytest
from litestar import Litestar
from litestar.datastructures import MultiDict
from litestar.handlers import HTTPRouteHandler
from litestar.routes import HTTPRoute

from pgsched.api.pages.forms import OF_EXECUTIONS, OF_LETTERS
from pgsched.api.problems import Unreadable
from pgsched.api.request_reading import ApiRequest, _query_names, check_query
from tests.api.access_arrange import make_key, routes_of, things_of_shop
from tests.api.page_arrange import pages_of
from tests.conftest import Connection

_NOT_UTF_8 = ("%ff", "%ed%a0%80", "%c3", "a%80b", "%f5%80%80%80")
_ODD = ("%00", "x" * 5_000, "-1", "NaN", "1e400", "9" * 30, "%D9%A3", "infinity", "9999-12-31T23:59:59-10:00", "_" * 22)
_ENDLESS = {"/events", "/now/live", "/metrics"}
"""Streams, and /metrics, which takes no parameters."""
_OF_PAGES = {
    *OF_EXECUTIONS,
    *OF_LETTERS,
    "after",
    "before",
    "span",
    "next",
    "done",
    "name",
    "kind",
    "by",
    "action",
    "verb",
    "count",
    "discarded",
    "issuer",
    "state",
    "job_state",
    "status",
    "worker",
    "sort",
    "month",
    "day",
    "at",
    "rate",
    "version",
}


def _handlers(app: Litestar) -> Iterator[tuple[str, HTTPRouteHandler]]:
    for route in app.routes:
        for handler in route.route_handlers if isinstance(route, HTTPRoute) else ():
            assert isinstance(handler, HTTPRouteHandler)
            yield route.path_format if "{" not in route.path else route.path, handler


class _Noting(MultiDict[str]):
    """Query parameters that record which parameters are read."""

    asked: ClassVar = set[str]()

    def get(self, key: str, default: Any = None) -> Any:
        self.asked.add(key)
        return super().get(key, default)

    def getall(self, key: str, default: Any = None) -> Any:
        self.asked.add(key)
        return super().getall(key, default)

    def __contains__(self, key: object) -> bool:
        self.asked.add(str(key))
        return super().__contains__(key)


async def _read(page: httpx.AsyncClient, path: str) -> set[str]:
    """Returns the parameters that a page reads. Other parameters cannot change the page."""
    _Noting.asked.clear()
    with pytest.MonkeyPatch.context() as patch:
        plain = inspect.getattr_static(ApiRequest, "query_params").fget
        patch.setattr(ApiRequest, "query_params", property(lambda request: _Noting(plain(request).multi_items())))
        await page.get(path)
    return {*_Noting.asked}


async def _requests(app: Litestar, db: Connection, asking: httpx.AsyncClient) -> list[tuple[str, list[str]]]:
    """Returns the path and the parameter names of each GET route and page. The path includes any required query."""
    things = things_of_shop(db)
    handlers = {(path, handler.fn.__name__): handler for path, handler in _handlers(app)}
    found = [
        (next(route.paths(things)), [*_query_names(handlers[route.template, route.name])[0]])
        for route in routes_of(app)
        if route.method == "GET" and not any(route.template.endswith(path) for path in _ENDLESS)
    ]
    shown = {path: handler for (path, _), handler in handlers.items() if "GET" in handler.http_methods}
    for page in pages_of(app):
        if page.method == "GET" and page.template not in _ENDLESS:
            source, path = inspect.getsource(shown[page.template].fn), next(page.paths(things))
            named = {"after", "before", "verb"} | {name for name in _OF_PAGES if f'"{name}"' in source}
            found.append((path, sorted(named | {*_query_names(shown[page.template])[0]} | await _read(asking, path))))
    return found


async def _asked(page: httpx.AsyncClient, path: str, name: str, value: str) -> int:
    answer = await page.get(f"{path}{'&' if '?' in path else '?'}{name}={value}")
    return answer.status_code


@pytest.fixture
def keyed(page: httpx.AsyncClient, db: Connection) -> httpx.AsyncClient:
    """A browser with a key for the API."""
    page.headers["Authorization"] = f"Bearer {make_key(db)}"
    return page


async def test_a_query_that_is_not_utf_8_is_refused(
    keyed: httpx.AsyncClient, page_app: Litestar, db: Connection
) -> None:
    wrong = {}
    for path, names in await _requests(page_app, db, keyed):
        for value in _NOT_UTF_8:
            if (status := await _asked(keyed, path, (names or ["after"])[0], value)) != 400:
                wrong[path, value] = status
    assert not wrong, "\n".join(map(str, wrong.items()))


async def test_no_parameter_value_causes_a_server_error(
    keyed: httpx.AsyncClient, page_app: Litestar, db: Connection
) -> None:
    """Sends every second value to a route, and the other values to the next route with that parameter."""
    wrong, met = {}, Counter[str]()
    for path, names in await _requests(page_app, db, keyed):
        for name in names:
            for value in _ODD[met[name] % 2 :: 2]:
                if (status := await _asked(keyed, path, name, value)) >= 500:
                    wrong[path, name, value[:50]] = status
            met[name] += 1
    assert not wrong, "\n".join(map(str, wrong.items()))


async def test_a_form_that_is_not_utf_8_is_refused(page: httpx.AsyncClient) -> None:
    sent = {"Content-Type": "application/x-www-form-urlencoded"}
    for body in (b"client=%ff", b"client=\xff", b"%ed%a0%80=1"):
        assert (await page.post("/client/hold", content=body, headers=sent)).status_code == 400


@pytest.mark.parametrize("query", [b"key=\xc3\xa9", b"key=\xff"])
async def test_a_query_with_raw_non_ascii_bytes_is_refused(query: bytes) -> None:
    sent: Any = SimpleNamespace(scope={"query_string": query})
    with pytest.raises(Unreadable):
        await check_query(sent)
