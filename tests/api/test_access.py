"""Each route with each kind of key, also if only the database enforces access."""

from collections.abc import AsyncIterator, Iterator

import httpx
import pytest
from litestar import Litestar

from pgsched.api import access, batch_lines, request_reading
from pgsched.api.access import PUBLIC, SCOPE
from pgsched.domain.api_key import SCOPES, Grant, Token
from tests.api.access_arrange import MARK, Route, make_key, routes_of, rows_of_all, things_of_shop
from tests.api.conftest import app_of
from tests.api.page_arrange import pages_of
from tests.api.serving import serving
from tests.conftest import Connection
from tests.databases import Databases, Janitor, lending_with
from tests.store.store_arrange import call, schedule

Things = dict[str, list[str]]
ORDERS = """select pgsched.create_queue('orders', '{"pulled": true}'); delete from pgsched.audit_log"""


@pytest.fixture(scope="module")
def with_orders(janitor: Janitor, template: str) -> Iterator[Databases]:
    with lending_with(ORDERS, "pgsched_access", janitor=janitor, template=template) as databases:
        yield databases


@pytest.fixture
def database_url(with_orders: Databases) -> Iterator[str]:
    with with_orders.lent() as url:
        yield url


@pytest.fixture
def app(database_url: str) -> Litestar:
    return app_of(database_url)


@pytest.fixture
async def api(app: Litestar) -> AsyncIterator[httpx.AsyncClient]:
    async with serving(app) as client:
        yield client


@pytest.fixture
def things(db: Connection) -> Things:
    found = things_of_shop(db)
    call(db, "set_limit", kind="client", name="default", rate=100)
    schedule(db, target="queue:", queue="orders", client="shop", payload={MARK: 1})
    return found


_SCHEMA = {"/schema", "/schema/openapi.json", "/schema/{path:str}"}


def test_every_route_declares_a_scope_or_is_public(app: Litestar) -> None:
    public, closed = set(), 0
    for route in app.routes:
        for handler in getattr(route, "route_handlers", None) or [route.route_handler]:  # type: ignore[union-attr]
            assert handler.opt.get(SCOPE) in {*SCOPES, PUBLIC}, route.path
            methods = getattr(handler, "http_methods", {"ANY"}) - {"OPTIONS"}
            if methods and handler.opt[SCOPE] == PUBLIC:
                public.add(route.path)
            elif methods:
                closed += len(methods)
    assert closed == len(routes_of(app)) + len(pages_of(app))  # test_page_access.py tests the pages
    entries = {"/sign-in", "/sign-in/at", "/sign-in/return", "/sign-out", "/static/{name:str}"}
    by_token = {f"/v1/executions/{{execution_id:str}}/{verb}" for verb in ("complete", "fail", "extend", "release")}
    assert public == {"/healthz", "/readyz", *_SCHEMA, *entries, *by_token}


def test_installation_wide_routes_except_metrics_need_the_admin_scope(app: Litestar) -> None:
    everywhere = [route for route in routes_of(app) if route.everywhere]
    assert {route.template for route in everywhere if route.scope != "admin"} == {"/metrics"}
    prefixes = ("/v1/queues", "/v1/limits", "/v1/keys", "/v1/workers", "/v1/recovery")
    shared = [route for route in routes_of(app) if route.template.startswith(prefixes) and route.name != "claim"]
    assert {route.name for route in shared if not route.everywhere} == {"list_queues", "get_queue"}


@pytest.mark.parametrize("kind", ["none", "unknown", "wrong secret", "expired", "revoked", "no token"])
async def test_every_route_refuses_requests_without_a_valid_api_key(
    api: httpx.AsyncClient, app: Litestar, db: Connection, kind: str
) -> None:
    made = make_key(db)
    keys = {"none": None, "unknown": Token.new(), "wrong secret": Token.new(made.id), "no token": Token("x", "y")}
    if kind == "expired":
        db.execute("update pgsched_internal.api_keys set expires_at = pgsched.now() - interval '1 ms'")
    elif kind == "revoked":
        db.execute("select pgsched_internal.revoke_key(%s)", [made.id])
    nothing = {name: ["0198c5a4-7b1e-7c3a-9f52-3d1f0a6e2b47"] for name in _NAMES} | {"worker": ["7"]}
    for route in routes_of(app):
        for path in route.paths(nothing):
            answer = await route.ask(api, path, keys.get(kind, made))
            assert (answer.status_code, answer.json()["code"]) == (401, "pgsched.unauthenticated"), route
            assert answer.headers["www-authenticate"].startswith('Bearer realm="pgsched"')


_NAMES = ("job_id", "execution_id", "operation_id", "client", "queue", "name", "key_id")


@pytest.mark.parametrize("scope", SCOPES)
async def test_an_api_key_can_call_only_the_routes_its_scope_covers(
    api: httpx.AsyncClient, app: Litestar, db: Connection, things: Things, scope: str
) -> None:
    key, of_all = make_key(db, clients=["shop"], scopes=[scope]), make_key(db, scopes=[scope])
    for route in routes_of(app):
        for path in route.paths(things):
            answer = await route.ask(api, path, key)
            if route.scope != scope or route.everywhere:
                assert (answer.status_code, answer.json()["code"]) == (403, "pgsched.refused"), route
            if route.scope != scope:
                assert answer.json()["detail"] == f"this request needs a key with the scope {route.scope}"
                assert f'scope="{route.scope}"' in answer.headers["www-authenticate"]
            if route.scope == scope:
                _was_understood(route, await route.ask(api, path, of_all) if route.everywhere else answer)


def _was_understood(route: Route, answer: httpx.Response) -> None:
    """Asserts that the key allowed the request. 409 is accepted if an earlier request cancelled or replayed the row."""
    is_no_letter = route.name == "get_dead_letter" and answer.status_code == 404
    needs_all = route.name == "put_client" and "weight" in answer.text
    assert answer.is_success or answer.status_code == 409 or is_no_letter or needs_all, (route, answer.text)


async def test_another_clients_api_key_sees_and_changes_nothing(
    api: httpx.AsyncClient, app: Litestar, db: Connection, things: Things
) -> None:
    key = make_key(db, clients=["other"])
    before = rows_of_all(db)
    for route in routes_of(app):
        for path in route.paths(things):
            answer = await route.ask(api, path, key)
            assert MARK not in answer.text, route
            if route.everywhere:
                assert (answer.status_code, "all clients" in answer.json()["detail"]) == (403, True), route
            elif route.names_a_client:
                assert (answer.status_code, "'shop'" in answer.json()["detail"]) == (403, True), (route, answer.text)
            elif {"job_id", "execution_id", "operation_id"} & _parts(route):
                assert answer.status_code == 404, (route, answer.text)
            else:
                assert answer.status_code == 200, (route, answer.text)
    assert rows_of_all(db) == before


async def test_the_database_isolates_clients_even_if_route_checks_are_off(
    api: httpx.AsyncClient, app: Litestar, db: Connection, things: Things, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = make_key(db, clients=["other"])
    for module in (request_reading, batch_lines):
        monkeypatch.setattr(module, "check_clients", lambda *_: None)
    monkeypatch.setattr(access, "check_scope", lambda *_, **__: None)
    monkeypatch.setattr(Grant, "is_for", lambda *_: True)
    before = rows_of_all(db)
    for route in routes_of(app):
        for path in route.paths(things):
            answer = await route.ask(api, path, key)
            assert MARK not in answer.text, (route, answer.text)
            assert answer.status_code not in {400, 401, 415, 422, 500, 503}, (route, answer.text)
    assert rows_of_all(db) == before


def _parts(route: Route) -> set[str]:
    return {part[1:-1].partition(":")[0] for part in route.template.split("/") if part.startswith("{")}
