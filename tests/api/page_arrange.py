"""A signed-in browser, and a request for each page and form of the dashboard."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import httpx
from litestar import Litestar
from litestar.handlers import HTTPRouteHandler
from litestar.routes import HTTPRoute

from pgsched.api.access import EVERYWHERE, PAGE, SCOPE
from pgsched.api.pages.session import COOKIE
from tests.api.access_arrange import MARK

OWN = {"Origin": "http://localhost"}
"""The header that a browser sends with the dashboard's own forms."""
_SHOP = {"client": "shop"}
_FORMS: Mapping[str, Mapping[str, str]] = {
    "/client/hold": _SHOP,
    "/client/release": _SHOP,
    "/client/settings": _SHOP | {"keep": "failures"},
    "/limits/set": {"kind": "client", "name": "shop", "rate": "5"},
    "/limits/drop": {"kind": "client", "name": "shop"},
    "/targets/sideline": _SHOP | {"host": f"{MARK}.example"},
    "/targets/restore": _SHOP | {"host": f"{MARK}.example"},
    "/ordering-keys/unblock": _SHOP | {"ordering_key": f"{MARK}-order"},
    "/queues/{name:str}/settings": {"weight": "7"},
    "/bulk/new": _SHOP | {"action": "cancel"},
}
_NAMES_SHOP = {
    "/client": "name=shop",
    "/targets": "client=shop",
    "/ordering-keys": "client=shop",
    "/bulk/new": "client=shop&action=cancel",
}


def signed_in(client: httpx.AsyncClient, key: object) -> None:
    client.cookies.set(COOKIE, str(key))


class Page:
    """A page or a form, with a request about the rows of client shop."""

    def __init__(self, template: str, method: str, opt: Mapping[str, Any]) -> None:
        self.template, self.method = template, method
        self.scope, self.everywhere = opt[SCOPE], opt[EVERYWHERE]

    @property
    def names_shop(self) -> bool:
        return self.template in _NAMES_SHOP or "client" in _FORMS.get(self.template, {})

    def paths(self, things: Mapping[str, Sequence[str]]) -> Iterator[str]:
        """Yields a path for each row that the page can address."""
        parts = [part for part in self.template.split("/") if part.startswith("{")]
        query = f"?{_NAMES_SHOP[self.template]}" if self.template in _NAMES_SHOP else ""
        for thing in things[parts[0][1:].partition(":")[0]] if parts else [""]:
            yield (self.template.replace(parts[0], thing) if parts else self.template) + query

    @property
    def form(self) -> Mapping[str, str]:
        """The fields to submit."""
        return _FORMS.get(self.template, {})

    async def ask(self, browser: httpx.AsyncClient, path: str) -> httpx.Response:
        given: Any = {"data": dict(self.form)} if self.method == "POST" else {}
        return await browser.request(self.method, path, **given)


def pages_of(app: Litestar) -> list[Page]:
    found = []
    for route in app.routes:
        for handler in route.route_handlers if isinstance(route, HTTPRoute) else ():
            assert isinstance(handler, HTTPRouteHandler)
            if handler.opt.get(PAGE):
                template = route.path_format if "{" not in route.path else route.path
                found += [Page(template, str(one), handler.opt) for one in handler.http_methods & {"GET", "POST"}]
    return found
