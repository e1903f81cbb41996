"""Signing in again returns to the same page, and keeps the fields of a form."""

from html import unescape
from urllib.parse import parse_qs, quote, urlsplit

import httpx
import pytest
from litestar import Litestar

from pgsched.api.pages.payload_display import MOST_SHOWN
from tests.api.access_arrange import make_key, things_of_shop
from tests.api.page_arrange import pages_of, signed_in
from tests.conftest import Connection
from tests.store.store_arrange import call, column, schedule

_READS = {"Accept": "text/html"}


def _next(answer: httpx.Response, header: str) -> str:
    return parse_qs(urlsplit(answer.headers[header]).query)["next"][0]


async def test_a_form_sent_while_signed_out_can_be_sent_again(page: httpx.AsyncClient, db: Connection) -> None:
    page.cookies.clear()
    answer = await page.post("/client/hold", data={"client": "shop", "note": 'they "asked"\nus'})
    assert answer.status_code == 401
    shown = unescape(answer.text)
    assert ('action="/client/hold"' in shown, 'value="they "asked"\nus"' in shown) == (True, True)
    assert column(db, b"select client_id from pgsched.clients where state = 'held'") == []
    signed_in(page, make_key(db))
    assert (await page.post("/client/hold", data={"client": "shop"})).status_code == 303


async def test_a_form_from_another_site_cannot_be_sent_again(page: httpx.AsyncClient) -> None:
    page.cookies.clear()
    answer = await page.post("/client/hold", data={"client": "shop"}, headers={"Origin": "https://evil.test"})
    assert (answer.status_code, "<form" in answer.text) == (403, False)


async def test_a_large_form_redirects_to_sign_in_and_then_to_its_page(page: httpx.AsyncClient) -> None:
    page.cookies.clear()
    sent = {"client": "shop", "note": "x" * 500_000}
    answer = await page.post("/client/hold", data=sent, headers={"Referer": "http://localhost/client?name=shop"})
    assert (answer.status_code, _next(answer, "location")) == (303, "/client?name=shop")


async def test_the_largest_editable_payload_can_be_sent_again(page: httpx.AsyncClient, db: Connection) -> None:
    id = schedule(db, target="python:note", delay="1 hour")
    page.cookies.clear()
    payload = '"' + "結" * (MOST_SHOWN - 2) + '"'
    answer = await page.post(f"/executions/{id}/edit", data={"payload": payload})
    assert (answer.status_code, payload in unescape(answer.text)) == (401, True)


async def test_a_fragment_request_redirects_to_sign_in_and_then_to_its_page(
    page: httpx.AsyncClient, db: Connection
) -> None:
    page.cookies.clear()
    id = schedule(db, target="python:note", delay="1 hour")
    for url, expected in {
        f"http://localhost/executions/{id}?a=b": f"/executions/{id}?a=b",
        "http://localhost/": "/",
        "javascript:alert(1)": "/",
        "http://localhost//evil.test/": "/",
    }.items():
        headers = {"HX-Request": "true", "HX-Current-URL": url}
        answer = await page.get(f"/executions/{id}", headers=headers)
        assert (answer.status_code, _next(answer, "hx-redirect")) == (401, expected)


async def test_every_form_sent_while_signed_out_keeps_all_its_fields(
    page: httpx.AsyncClient, page_app: Litestar, db: Connection
) -> None:
    call(db, "create_queue", name="orders", changes={"pulled": True})
    things = things_of_shop(db) | {"name": ["default", quote("pay/ments %", safe="")]}
    page.cookies.clear()
    for one in pages_of(page_app):
        for path in one.paths(things) if one.method == "POST" else ():
            answer = await one.ask(page, path)
            shown = unescape(answer.text)
            assert (answer.status_code, f'action="{path.partition("?")[0]}"' in shown) == (401, True), path
            for name, value in one.form.items():
                assert f'name="{name}" value="{value}"' in shown, (path, name)


@pytest.mark.parametrize(
    "next",
    [
        "/sign-in", "/sign-in?next=/jobs", "/sign-out", "/sign-in/at?issuer=x", "/%73ign-in", "//evil.test",
        "/\\evil.test", "https://evil.test/", "/\t/evil.test", "javascript:alert(1)", "jobs", "/" + "x" * 5_000,
    ],
)  # fmt: skip
async def test_signing_in_never_redirects_to_another_site_or_a_sign_in_page(
    page: httpx.AsyncClient, db: Connection, next: str
) -> None:
    key = str(make_key(db))
    assert 'name="next" value="/"' in (await page.get("/sign-in", params={"next": next})).text
    answer = await page.post("/sign-in", data={"key": key, "next": next})
    assert (answer.status_code, answer.headers["location"]) == (303, "/")


async def test_signing_in_does_not_repeat_the_previous_forms_message(page: httpx.AsyncClient) -> None:
    page.cookies.clear()
    answer = await page.get("/jobs?done=cancel&client=shop&done=hold")
    assert _next(answer, "location") == "/jobs?client=shop"


@pytest.mark.parametrize("site", ["cross-site", "same-site", "none"])
async def test_a_link_from_another_site_cannot_show_a_success_message(
    page: httpx.AsyncClient, page_app: Litestar, db: Connection, site: str
) -> None:
    call(db, "create_queue", name="orders", changes={"pulled": True})
    things = things_of_shop(db)
    came = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "navigate", "Referer": "https://alerts.test/"}
    del page.headers["Origin"]
    for one in pages_of(page_app):
        for path in one.paths(things) if one.method == "GET" else ():
            answer = await page.get(path + ("&" if "?" in path else "?") + "done=cancel", headers=came)
            here = (await page.get(path)).status_code  # 404 or 409 if there is nothing left to change
            assert (answer.status_code, 'role="status"' in answer.text) == (here, False), path
            assert here in {200, 404, 409}, path


async def test_a_get_request_to_a_form_url_shows_an_error_page(page: httpx.AsyncClient) -> None:
    answer = await page.get("/client/hold", headers=_READS)
    assert (answer.status_code, "That is not possible" in answer.text) == (405, True)
    assert (await page.get("/v1/jobs/cancel", headers=_READS)).headers["content-type"].startswith("application/problem")


async def test_a_head_request_for_the_start_page_gets_a_200_and_no_body(page: httpx.AsyncClient) -> None:
    answer = await page.head("/")
    assert (answer.status_code, answer.content) == (200, b"")
