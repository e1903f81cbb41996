"""Each page and form with each kind of key, on a read-only dashboard, and from another site."""

import re
from collections.abc import AsyncIterator

import httpx
import pytest
from litestar import Litestar

from pgsched.api import access, request_reading
from pgsched.api.app import create_app
from pgsched.api.pages import clients as client_pages
from pgsched.api.pages import gates as gate_pages
from pgsched.api.pages import verb_forms
from pgsched.domain.api_key import SCOPES, Grant, Token
from pgsched.settings import Settings
from tests.api.access_arrange import MARK, make_key, rows_of_all, things_of_shop
from tests.api.page_arrange import OWN, pages_of, signed_in
from tests.api.serving import serving
from tests.conftest import Connection
from tests.store.store_arrange import call

Things = dict[str, list[str]]


@pytest.fixture
def things(db: Connection) -> Things:
    call(db, "create_queue", name="orders", changes={"pulled": True})
    return things_of_shop(db)


@pytest.fixture
async def read_only(database_url: str) -> AsyncIterator[httpx.AsyncClient]:
    app = create_app(Settings(database_url=database_url, dashboard="read-only"))
    async with serving(app) as client:
        client.headers.update(OWN | {"Host": "localhost"})
        yield client


@pytest.mark.parametrize("scope", SCOPES)
async def test_an_api_key_can_open_only_the_pages_its_scope_covers(
    page: httpx.AsyncClient, page_app: Litestar, db: Connection, things: Things, scope: str
) -> None:
    signed_in(page, make_key(db, clients=["shop"], scopes=[scope]))
    for one in pages_of(page_app):
        for path in one.paths(things):
            answer = await one.ask(page, path)
            if one.scope == scope and not one.everywhere:
                assert answer.status_code not in {401, 403, 500, 503}, (path, answer.text)
                assert not answer.headers.get("location", "").startswith("/sign-in"), path
            else:
                assert (answer.status_code, "That is not possible" in answer.text) == (403, True), path


async def test_another_clients_api_key_sees_and_changes_nothing(
    page: httpx.AsyncClient, page_app: Litestar, db: Connection, things: Things
) -> None:
    signed_in(page, make_key(db, clients=["other"]))
    before = rows_of_all(db)
    for one in pages_of(page_app):
        for path in one.paths(things):
            answer = await one.ask(page, path)
            assert MARK not in answer.text, path
            assert answer.status_code not in {401, 500, 503}, (path, answer.text)
            assert answer.status_code == 403 or not (one.everywhere or one.names_shop), (path, answer.text)
    assert rows_of_all(db) == before


@pytest.mark.parametrize("kind", ["none", "unknown", "revoked"])
async def test_every_page_asks_a_visitor_without_a_valid_api_key_to_sign_in(
    page: httpx.AsyncClient, page_app: Litestar, db: Connection, things: Things, kind: str
) -> None:
    key = make_key(db)
    db.execute("select pgsched_internal.revoke_key(%s)", [key.id])
    page.cookies.clear()
    if kind != "none":
        signed_in(page, key if kind == "revoked" else Token.new())
    before = rows_of_all(db)
    for one in pages_of(page_app):
        for path in one.paths(things):
            answer = await one.ask(page, path)
            if one.method == "POST":  # the page offers to send the form again after signing in
                assert (answer.status_code, "Send it again" in answer.text) == (401, True), path
            else:
                assert (answer.status_code, answer.headers["location"][:13]) == (303, "/sign-in?next"), path
    assert rows_of_all(db) == before


async def test_the_database_isolates_clients_even_if_page_checks_are_off(
    page: httpx.AsyncClient, page_app: Litestar, db: Connection, things: Things, monkeypatch: pytest.MonkeyPatch
) -> None:
    db.execute(
        "select pgsched.schedule('notify:a', client => %s) from generate_series(1, 5)", [f"{MARK}-rival"]
    )  # appears among the clients with due executions
    signed_in(page, make_key(db, clients=["other"]))
    for module in (access, request_reading, client_pages, verb_forms, gate_pages):
        monkeypatch.setattr(module, "check_clients", lambda *_: None)
    monkeypatch.setattr(access, "check_scope", lambda *_, **__: None)
    monkeypatch.setattr(Grant, "is_for", lambda *_: True)
    before = rows_of_all(db)
    for one in pages_of(page_app):
        for path in one.paths(things):
            answer = await one.ask(page, path)
            told = answer.text if one.method == "GET" else re.sub(f"{MARK}(-order|.example)", "", answer.text)
            assert MARK not in told, path  # the page may repeat what its form sent
            assert answer.status_code not in {400, 401, 422, 500, 503}, (path, answer.text)
    assert rows_of_all(db) == before


async def test_a_read_only_dashboard_has_no_forms_and_refuses_every_post(
    read_only: httpx.AsyncClient, page_app: Litestar, db: Connection, things: Things
) -> None:
    signed_in(read_only, make_key(db))
    before = rows_of_all(db)
    for one in pages_of(page_app):
        for path in one.paths(things):
            answer = await one.ask(read_only, path)
            if one.method == "POST" or (one.scope in {"operate", "schedule"}):
                assert (answer.status_code, "read-only" in answer.text) == (403, True), path
            else:
                assert answer.status_code == 200, (path, answer.text)
                assert answer.text.count('method="post"') == answer.text.count('action="/sign-out"'), path
    assert rows_of_all(db) == before


async def test_forms_from_another_site_are_refused(
    page: httpx.AsyncClient, page_app: Litestar, db: Connection, things: Things
) -> None:
    before = rows_of_all(db)
    for told in ({"Origin": "https://evil.test"}, {"Sec-Fetch-Site": "cross-site"}, {}):
        page.headers.pop("origin", None)
        page.headers.update(told)
        for one in pages_of(page_app):
            for path in one.paths(things):
                if one.method == "POST":
                    assert (await one.ask(page, path)).status_code == 403, (path, told)
    assert rows_of_all(db) == before


_ONE_CLICK = {
    "replay", "run-now", "trigger", "pause", "resume", "restore", "release", "sign-out", "settings", "set", "hold",
    "drain", "sideline", "edit", "new", "backfill",
}  # fmt: skip
"""Actions that can be undone, have a confirmation page, or need a field to be filled in."""
_FORM = re.compile(
    r'<details|</details>|<form method="post" action="([^"]+)"|<form class="[^"]+" method="post" action="([^"]+)"'
)


async def test_irreversible_actions_need_more_than_one_click(
    page: httpx.AsyncClient, page_app: Litestar, db: Connection, things: Things
) -> None:
    signed_in(page, make_key(db))
    asked = set()
    for one in pages_of(page_app):
        for path in one.paths(things) if one.method == "GET" else ():
            inside = 0
            for found in _FORM.finditer((await one.ask(page, path)).text):
                inside += {"<details": 1, "</details>": -1}.get(found[0], 0)
                if action := found[1] or found[2]:
                    verb = action.rpartition("/")[2]
                    asked.add(verb)
                    assert inside or (verb in _ONE_CLICK and action != "/queues/default/pause"), (path, action)
    assert {"cancel", "discard", "unblock", "drop", "drain", "sideline", "pause"} <= asked
