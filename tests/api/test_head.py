"""HEAD and OPTIONS on every route and page."""

import re
from typing import Any

import httpx
from litestar import Litestar
from litestar.handlers import HTTPRouteHandler
from litestar.routes import HTTPRoute

from tests.api.access_arrange import make_key, routes_of, things_of_shop
from tests.api.page_arrange import pages_of
from tests.conftest import Connection
from tests.store.store_arrange import call

_PUBLIC = ("/sign-in", "/static/style.css", "/static/none.css", "/healthz", "/readyz", "/metrics", "/none")
_OWN = {"content-type", "cache-control", "x-frame-options", "content-security-policy", "location", "allow", "etag"}

_OF_TYPE = {"int": "1", "uuid": "00000000-0000-7000-8000-000000000000"}
_PLACE = re.compile(r"\{\w+:(\w+)\}")


def _paths(app: Litestar, db: Connection) -> list[str]:
    """Returns paths for every page and every GET route."""
    call(db, "create_queue", name="orders", changes={"pulled": True})
    things = things_of_shop(db)
    pages = [path for one in pages_of(app) if one.method == "GET" for path in one.paths(things)]
    routes = [path for one in routes_of(app) if one.method == "GET" for path in one.paths(things)]
    return [*pages, *routes, *_PUBLIC]


async def _told(client: httpx.AsyncClient, method: str, path: str, key: object) -> dict[str, Any]:
    headers = {"Authorization": f"Bearer {key}"} if path.startswith("/v1") else {}
    answer = await client.request(method, path, headers=headers)
    told = {name: value for name, value in answer.headers.items() if name in _OWN}
    assert method == "GET" or answer.content == b"", path
    return told | {"status": answer.status_code, "options": answer.headers.get("allow", "")}


async def test_a_head_response_matches_the_get_response_but_has_no_body(
    page: httpx.AsyncClient, page_app: Litestar, db: Connection
) -> None:
    key = make_key(db)
    paths = _paths(page_app, db)
    assert len(paths) > 60
    for path in paths:
        assert await _told(page, "HEAD", path, key) == await _told(page, "GET", path, key), path


async def test_a_head_request_without_a_session_is_redirected_like_a_get(
    page: httpx.AsyncClient, page_app: Litestar, db: Connection
) -> None:
    paths = _paths(page_app, db)
    page.cookies.clear()
    for path in paths:
        assert await _told(page, "HEAD", path, "") == await _told(page, "GET", path, ""), path


async def test_an_options_request_lists_each_routes_methods(page: httpx.AsyncClient, page_app: Litestar) -> None:
    page.cookies.clear()
    for route in page_app.routes:
        assert isinstance(route, HTTPRoute)
        there: set[str] = set()
        for handler in route.route_handlers:
            assert isinstance(handler, HTTPRouteHandler)
            there |= {str(one) for one in handler.http_methods}
        answer = await page.options(_PLACE.sub(lambda found: _OF_TYPE.get(found[1], "x"), route.path))
        assert answer.status_code == 204, (route.path, answer.text)
        told = set(answer.headers["allow"].split(", "))
        if "GET" in there and not route.path.startswith("/schema"):  # Litestar serves the schema without HEAD
            there.add("HEAD")
        assert told == there | {"OPTIONS"}, route.path
