"""Names with special characters: routes, pages and forms address exactly the named row."""

import itertools
import re
from html import unescape
from typing import Any
from urllib.parse import parse_qs, quote, urlencode, urlsplit

import httpx
import pytest
from litestar import Litestar
from markupsafe import escape

from pgsched.api.request_reading import ApiRequest, Application
from tests.api.access_arrange import routes_of
from tests.api.conftest import app_of
from tests.conftest import Connection
from tests.names import NAMES
from tests.store.store_arrange import call, column, schedule, value


def _quoted(name: str) -> str:
    return quote(name, safe="") if name.strip(".") else name.replace(".", "%2E")


async def test_an_encoded_name_is_one_path_segment_in_every_route(database_url: str) -> None:
    app, wrong = app_of(database_url), []
    for route, name in itertools.product(routes_of(app), NAMES):
        parts = re.findall(r"{(\w+):str}", route.template)
        path = re.sub(r"{\w+:str}", _quoted(name), route.template)
        scope: Any = {"type": "http", "method": route.method, "raw_path": path.encode(), "headers": []}
        if not parts or "{" in path.replace(_quoted(name), ""):
            continue
        await _route(app, scope)
        if (scope["route_handler"].fn.__name__, ApiRequest(scope).path_params) != (
            route.name,
            dict.fromkeys(parts, name),
        ):
            wrong.append((route.template, name))
    assert wrong == []


async def _route(app: Litestar, scope: Any) -> None:
    async def receive() -> Any:
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        pass

    assert isinstance(app, Application)
    await app(scope, receive, send)


async def test_a_client_with_any_name_can_be_set_held_read_and_removed(api: httpx.AsyncClient, db: Connection) -> None:
    call(db, "set_client", client="victim", changes={"weight": 3})
    for name in NAMES:
        path = f"/v1/clients/{_quoted(name)}"
        assert (await api.patch(path, json={"weight": 5})).json()["client"] == name
        assert (await api.put(f"{path}/secrets/s1", json={"value": "x"})).json()["client"] == name
        assert (await api.post(f"{path}/pause", json={})).json() == {"client": name, "changed": True}
        assert (await api.get(path)).json()["weight"] == 5
        assert (await api.delete(f"{path}/secrets/s1")).json()["changed"] is True
        assert column(db, b"select client_id from pgsched.clients where state = 'held'") == [name]
        assert (await api.post(f"{path}/resume", json={})).json()["changed"] is True
        assert (await api.delete(path)).json() == {"client": name, "changed": True}
        assert column(db, b"select client_id from pgsched.clients order by 1") == ["default", "victim"]


async def test_a_client_name_with_a_slash_reaches_no_other_client(api: httpx.AsyncClient, db: Connection) -> None:
    assert (await api.put("/v1/clients/victim/secrets/s1", json={"value": "x"})).status_code == 200
    assert (await api.delete("/v1/clients/victim%2Fsecrets%2Fs1")).json()["changed"] is False
    assert value(db, b"select count(*) from pgsched_internal.secrets") == 1


@pytest.mark.parametrize("key", ["merchant-42", "a/b", "%2F", "käse", ".."])
async def test_an_ordering_key_limit_is_addressed_by_its_encoded_name(key: str, api: httpx.AsyncClient) -> None:
    path = f"/v1/limits/key/{_quoted(f'payments/{key}')}"
    assert (await api.put(path, json={"rate": 5})).json()["name"] == f"payments/{key}"
    assert (await api.get(path)).json()["rate"] == 5
    [row] = (await api.get("/v1/limits", params={"kind": "key"})).json()["items"]
    assert row["name"] == f"payments/{key}"
    assert (await api.delete(path)).json()["changed"] is True


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("DELETE", "/v1/clients//signing-secret"),
        ("GET", "/v1/clients//secrets"),
        ("DELETE", "/v1/clients/victim/"),
        ("DELETE", "//v1/clients/victim"),
    ],
)
async def test_a_path_with_an_empty_name_is_not_found(
    method: str, path: str, api: httpx.AsyncClient, db: Connection
) -> None:
    for client in ("victim", "signing-secret", "secrets"):
        call(db, "set_client", client=client, changes={"weight": 3})
    answer = await api.request(method, f"http://127.0.0.1{path}")
    assert answer.status_code == 404
    assert value(db, b"select count(*) from pgsched.clients") == 4


@pytest.mark.parametrize(("path", "status"), [("/v1/clients/%FF", 400), ("/v1/clients/a%00", 422)])
async def test_a_name_with_invalid_utf_8_or_a_nul_is_refused(path: str, status: int, api: httpx.AsyncClient) -> None:
    assert (await api.get(path)).status_code == status


async def test_an_idempotency_key_must_be_ascii(api: httpx.AsyncClient) -> None:
    asked: Any = {"json": {"target": "python:note"}, "headers": {"Idempotency-Key": "käse".encode()}}
    answer = await api.post("/v1/jobs", **asked)
    assert (answer.status_code, answer.json()["errors"][0]["parameter"]) == (400, "Idempotency-Key")


_PAGES = ("/", "/clients", "/limits", "/targets", "/ordering-keys", "/executions", "/jobs", "/dead-letters", "/audit")


async def test_links_on_pages_preserve_client_names_and_keys(page: httpx.AsyncClient, db: Connection) -> None:
    shown = [*_PAGES]
    for name in NAMES:
        call(db, "set_client", client=name, changes={"weight": 3})
        call(db, "set_limit", kind="client", name=name, rate=5)
        call(db, "pause", kind="target", name="shop.example", client=name)
        given: Any = {"client": name, "target": "https://shop.example/"}
        shown += [
            f"/executions/{schedule(db, **given, key=name, delay='1 hour')}",
            f"/jobs/{schedule(db, **given, key=f'{name}-job', every='1 hour')}",
            f"/client?{urlencode({'name': name})}",
        ]
    for path in shown:
        answer = await page.get(path)
        assert answer.status_code == 200, path
        for link, text in re.findall(r'<a [^>]*href="(/[^"]*)"[^>]*>([^<]*)</a>', answer.text):
            parts = urlsplit(unescape(link))
            named = parse_qs(parts.query, keep_blank_values=True)
            if parts.path == "/client":
                assert named["name"] == [unescape(text)]
            assert {*NAMES, "default"} >= {*named.get("client", [])}, (path, link)
            assert {*NAMES, *(f"{name}-job" for name in NAMES)} >= {*named.get("key", [])}, (path, link)


async def test_page_forms_work_for_clients_with_any_name(page: httpx.AsyncClient, db: Connection) -> None:
    for name in NAMES:
        shown = (await page.get("/client", params={"name": name})).text
        form = next(one for one in re.findall(r"<form.*?</form>", shown, re.DOTALL) if "/client/hold" in one)
        fields = {unescape(key): unescape(text) for key, text in re.findall(r'name="(\w+)" value="([^"]*)"', form)}
        assert fields["client"] == name
        held = await page.post("/client/hold", data=fields)
        assert column(db, b"select client_id from pgsched.clients where state = 'held'") == [name]
        answer = await page.get(held.headers["location"])
        assert (answer.status_code, f"<h1>Client {escape(name)}" in answer.text) == (200, True), answer.text[:2000]
        assert (await page.post("/client/release", data={"client": name})).status_code == 303


async def test_page_filters_match_client_names_and_keys_exactly(page: httpx.AsyncClient, db: Connection) -> None:
    ids = {name: schedule(db, client=name, key=name, target="python:note", delay="1 hour") for name in NAMES}
    for name, id in ids.items():
        answer = await page.get("/executions", params={"client": name, "key": name})
        assert {*re.findall(r'href="/executions/([0-9a-f-]{36})"', answer.text)} == {str(id)}, name
