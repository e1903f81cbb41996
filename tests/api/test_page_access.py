"""Each page and each form with each kind of key, where the dashboard is read-only, and from another site."""

from collections.abc import AsyncIterator

import httpx
import pytest
from litestar import Litestar

from pgsched.api.app import create_app
from pgsched.domain.api_key import SCOPES
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
async def test_a_page_is_for_who_has_its_scope_and_its_clients(
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


async def test_a_key_of_another_client_sees_nothing_and_changes_nothing(
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


async def test_where_it_is_read_only_every_page_is_shown_without_a_form_and_every_form_refused(
    read_only: httpx.AsyncClient, page_app: Litestar, db: Connection, things: Things
) -> None:
    signed_in(read_only, make_key(db))
    before = rows_of_all(db)
    for one in pages_of(page_app):
        for path in one.paths(things):
            answer = await one.ask(read_only, path)
            if one.method == "POST":
                assert (answer.status_code, "read-only" in answer.text) == (403, True), path
            else:
                assert answer.status_code == 200, (path, answer.text)
                assert answer.text.count('method="post"') == answer.text.count('action="/sign-out"'), path
    assert rows_of_all(db) == before


async def test_no_form_is_taken_from_another_site(
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
