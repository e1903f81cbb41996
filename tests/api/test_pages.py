"""The dashboard's pages: sign-in, access, forms, and escaping of what clients write."""

import re
from urllib.parse import quote

import httpx
import pytest
from litestar import Litestar
from litestar.handlers import HTTPRouteHandler
from litestar.routes import HTTPRoute

from pgsched.api.access import PAGE, PUBLIC
from pgsched.api.app import create_app
from pgsched.api.pages import rendering
from pgsched.api.pages.rendering import POLICY
from pgsched.api.pages.session import COOKIE, local
from pgsched.settings import Settings
from tests.api.access_arrange import MARK, make_key, things_of_shop
from tests.api.page_arrange import OWN, signed_in
from tests.api.serving import serving
from tests.conftest import Connection
from tests.store.ends.dead_letter_arrange import dead_letter
from tests.store.store_arrange import schedule

HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>"
_PAGES = ("/", "/now", "/now/past?span=24h", "/now/coming", "/executions", "/jobs", "/dead-letters", "/database")


async def test_a_visitor_without_an_api_key_signs_in_and_returns_to_the_page(
    page: httpx.AsyncClient, db: Connection
) -> None:
    key = make_key(db)
    page.cookies.clear()
    found = await page.get("/executions?client=shop")
    assert (found.status_code, found.headers["location"]) == (303, "/sign-in?next=%2Fexecutions%3Fclient%3Dshop")
    form = await page.get(found.headers["location"])
    assert 'value="/executions?client=shop"' in form.text
    refused = await page.post("/sign-in", data={"key": "psk_0123456789abcdef_x", "next": "/jobs"})
    assert (refused.status_code, "set-cookie" in refused.headers) == (401, False)
    let_in = await page.post("/sign-in", data={"key": f"Authorization: Bearer {key}", "next": "/jobs"})
    assert (let_in.status_code, let_in.headers["location"]) == (303, "/jobs")
    for part in (f"{COOKIE}={key}", "HttpOnly", "SameSite=lax", "Path=/"):
        assert part in let_in.headers["set-cookie"]
    assert "Secure" not in let_in.headers["set-cookie"]
    behind_tls = await page.post("/sign-in", data={"key": str(key)}, headers={"X-Forwarded-Proto": "https"})
    kept = behind_tls.headers["set-cookie"]
    assert (kept.startswith(f"__Host-{COOKIE}="), "Secure" in kept, "Domain" in kept) == (True, True, False)
    for name, status in ((f"__Host-{COOKIE}", 200), (COOKIE, 303)):
        told = {"X-Forwarded-Proto": "https", "Cookie": f"{name}={key}"}
        page.cookies.clear()
        assert (await page.get("/jobs", headers=told)).status_code == status
    signed_in(page, key)
    for path in _PAGES:
        found = await page.get(path)
        assert found.status_code == 200, found.text
        assert found.headers["content-security-policy"] == POLICY
        assert found.headers["cache-control"] == "no-store"
        assert str(key) not in found.text
    out = await page.post("/sign-out")
    assert (out.headers["location"], f"{COOKIE}=" in out.headers["set-cookie"]) == ("/sign-in", True)
    assert "Max-Age=0" in out.headers["set-cookie"]


async def test_a_revoked_api_key_redirects_to_the_sign_in_page(page: httpx.AsyncClient, db: Connection) -> None:
    key = make_key(db)
    signed_in(page, key)
    db.execute("select pgsched_internal.revoke_key(%s)", [key.id])
    assert (await page.get("/executions")).status_code == 303


async def test_pages_accept_only_the_cookie_and_the_api_only_the_header(
    page: httpx.AsyncClient, db: Connection
) -> None:
    key = make_key(db)
    page.cookies.clear()
    assert (await page.get("/executions", headers={"Authorization": f"Bearer {key}"})).status_code == 303
    signed_in(page, key)
    assert (await page.get("/v1/jobs")).status_code == 401


@pytest.mark.parametrize(
    ("path", "led_to"),
    [
        ("/jobs?client=a", "/jobs?client=a"),
        ("//evil.test/x", "/"),
        ("https://evil.test/", "/"),
        ("/\\evil.test", "/"),
        ("javascript:alert(1)", "/"),
        ("//[", "/"),
        ("http://[x", "/"),
        ("//\u2100.com", "/"),
        ("", "/"),
        (None, "/"),
    ],
)
def test_a_redirect_never_leaves_the_dashboard(path: str | None, led_to: str) -> None:
    assert local(path) == led_to


async def test_only_the_dashboards_own_forms_are_accepted(page: httpx.AsyncClient, db: Connection) -> None:
    id = schedule(db, client="shop")
    del page.headers["origin"]
    for headers in ({}, {"Origin": "https://evil.test"}, {"Sec-Fetch-Site": "cross-site"}, {"Origin": "null"}):
        for path in (f"/executions/{id}/cancel", "/sign-in", "/sign-out"):
            assert (await page.post(path, headers=headers)).status_code == 403, (headers, path)
    assert (await page.get("/", headers={"Host": "evil.test"})).status_code == 403
    assert (await page.post(f"/executions/{id}/cancel", headers={"Sec-Fetch-Site": "same-origin"})).status_code == 303


async def test_a_clients_api_key_shows_only_that_clients_rows(page: httpx.AsyncClient, db: Connection) -> None:
    things = things_of_shop(db)
    signed_in(page, make_key(db, clients=["orders"]))
    found = await page.get("/")
    assert (found.status_code, found.headers["location"]) == (303, "/executions")
    for path in ("/executions", "/jobs", "/dead-letters?letter_state=all", "/executions?client=shop"):
        assert MARK not in (await page.get(path)).text, path
    for path in ("/now", "/database"):
        assert (await page.get(path)).status_code == 403
    for id in things["execution_id"]:
        found = await page.get(f"/executions/{id}")
        assert (found.status_code, MARK in found.text) == (404, False)
        for verb in ("cancel", "replay", "discard"):
            assert (await page.post(f"/executions/{id}/{verb}")).status_code in {404, 409}
    for id in things["job_id"]:
        assert (await page.get(f"/jobs/{id}")).status_code == 404
        for verb in ("cancel", "pause", "resume", "trigger"):
            assert (await page.post(f"/jobs/{id}/{verb}")).status_code == 404


async def test_a_read_only_api_key_sees_no_forms_and_its_posts_are_refused(
    page: httpx.AsyncClient, db: Connection
) -> None:
    id, job = schedule(db), schedule(db, every="1 hour", key="hourly")
    signed_in(page, make_key(db, scopes=["read"]))
    for path in (f"/executions/{id}", f"/jobs/{job}"):
        assert (await page.get(path)).text.count("<form") == 1  # to sign out
    for path in (f"/executions/{id}/cancel", f"/jobs/{job}/pause", f"/jobs/{job}/cancel", f"/executions/{id}/replay"):
        assert (await page.post(path)).status_code == 403
    signed_in(page, make_key(db, scopes=["read", "operate"]))
    assert (await page.post(f"/jobs/{job}/cancel")).status_code == 403  # needs the scope schedule, as under /v1
    assert (await page.post(f"/jobs/{job}/pause")).status_code == 303


async def test_an_execution_can_be_cancelled_on_its_page(page: httpx.AsyncClient, db: Connection) -> None:
    id = schedule(db, client="shop", payload='{"order": 7}')
    found = await page.get(f"/executions/{id}")
    assert "Waits until it is due" in found.text
    assert "&#34;order&#34;: 7" in found.text
    did = await page.post(f"/executions/{id}/cancel")
    assert did.headers["location"] == f"/executions/{id}?done=cancel"
    assert "Cancelled." in (await page.get(did.headers["location"])).text
    again = await page.post(f"/executions/{id}/cancel")
    assert again.headers["location"].endswith("done=nothing")


async def test_a_dead_letter_can_be_replayed_or_discarded_on_its_page(page: httpx.AsyncClient, db: Connection) -> None:
    first, second = dead_letter(db, reason="no route"), dead_letter(db, reason="out of paper")
    listed = (await page.get("/dead-letters")).text
    assert listed.count("Replay</button>") == 2
    assert listed.count('<td class="number">1</td><td class="long">') == 2
    assert "no route" not in (await page.get("/dead-letters?reason=paper")).text
    did = await page.post(f"/executions/{first}/replay")
    new = did.headers["location"].partition("?")[0].rpartition("/")[2]
    assert new != str(first)
    assert new in (await page.get(f"/executions/{first}")).text
    assert (await page.post(f"/executions/{second}/discard")).headers["location"].endswith("done=discard")
    assert "There are no dead letters" in (await page.get("/dead-letters")).text


async def test_a_job_can_be_paused_resumed_triggered_and_cancelled_on_its_page(
    page: httpx.AsyncClient, db: Connection
) -> None:
    job = schedule(db, cron="0 9 * * *", timezone="Europe/Berlin", key="report", client="shop")
    assert "0 9 * * *" in (await page.get("/jobs")).text
    assert "report" not in (await page.get("/jobs?job_state=paused")).text
    for verb, said in (
        ("pause", "Paused."),
        ("resume", "Resumed."),
        ("trigger", "An additional run was"),
        ("cancel", "Cancelled."),
    ):
        did = await page.post(f"/jobs/{job}/{verb}")
        assert said in (await page.get(did.headers["location"])).text, verb
    assert (await page.post(f"/jobs/{job}/explode")).status_code == 404


async def test_actions_on_pages_are_recorded_in_the_audit_log(page: httpx.AsyncClient, db: Connection) -> None:
    job = schedule(db, every="1 hour", key="hourly", client="shop")
    await page.post(f"/jobs/{job}/pause")
    [(who,)] = db.execute("select authenticated from pgsched.audit_log where action = 'pause'").fetchall()
    assert "ann" in str(who)


async def test_client_supplied_text_is_escaped_on_every_page(page: httpx.AsyncClient, db: Connection) -> None:
    hostile = HOSTILE[:100]
    db.execute("select pgsched.create_queue('q')")
    id = schedule(db, client=hostile, key=hostile, payload=f'{{"{hostile.replace(chr(34), "")}": 1}}', queue="q")
    job = schedule(db, client=hostile, key=f"{hostile} job", every="1 hour")
    letter = dead_letter(db, reason=hostile)
    db.execute("update pgsched.executions set fire_at = now() - interval '1 minute'")
    paths = ["/", "/now", "/executions", "/jobs", "/dead-letters", f"/executions/{id}", f"/jobs/{job}"]
    paths += [f"/executions/{letter}", f"/executions?client={quote(hostile)}", f"/dead-letters?reason={quote(hostile)}"]
    paths += [f"/sign-in?next={quote('/' + hostile)}", f"/jobs?job_state={quote(hostile)}"]
    for path in paths:
        found = (await page.get(path)).text
        assert "<script>alert" not in found, path
        assert "<img src=x" not in found, path
        assert " style=" not in found, path


async def test_the_next_page_link_keeps_the_filter(page: httpx.AsyncClient, db: Connection) -> None:
    db.execute("select pgsched.schedule('notify:a', client => 'shop', delay => '1 h') from generate_series(1, 60)")
    first = await page.get("/executions?client=shop")
    assert first.text.count('class="status scheduled"') == 50
    [more] = re.findall(r'href="([^"]+)" rel="next"', first.text)
    second = await page.get(more.replace("&amp;", "&"))
    assert second.text.count('class="status scheduled"') == 10
    assert "client=shop" in more


@pytest.mark.parametrize(
    "path",
    [
        "/executions?status=nothing",
        "/executions?job=x",
        "/executions?from=yesterday",
        "/executions?after=x",
        "/executions?label=x",
        "/executions?host=shop.example:8443",
        "/jobs?host=shop.example:8443",
        "/dead-letters?host=[::1]:8443",
        "/jobs?job_state=x",
        "/dead-letters?letter_state=x",
    ],
)
async def test_an_invalid_filter_shows_an_error_page(page: httpx.AsyncClient, path: str) -> None:
    found = await page.get(path)
    assert found.status_code in {400, 422}
    assert "That is not possible" in found.text


async def test_a_page_shows_an_error_if_the_database_is_unreachable() -> None:
    settings = Settings(database_url="postgresql://nobody@127.0.0.1:1/nothing")
    async with serving(create_app(settings, wait=0.1)) as api:
        found = await api.get("/executions")
        assert (await api.get("/static/style.css")).status_code == 200
    assert (found.status_code, "That is not possible" in found.text) == (503, True)


async def test_a_refused_fragment_request_is_answered_with_a_fragment(page: httpx.AsyncClient, db: Connection) -> None:
    signed_in(page, make_key(db, clients=["shop"]))
    part = await page.get("/now", headers={"HX-Request": "true"})
    assert (part.status_code, "<html" in part.text) == (403, False)
    assert "This cannot be shown now" in part.text
    page.cookies.clear()
    part = await page.get("/now", headers={"HX-Request": "true"})
    assert (part.status_code, part.headers["hx-redirect"], part.text) == (401, "/sign-in?next=%2F", "")


async def test_an_api_key_too_long_for_a_cookie_is_refused(page: httpx.AsyncClient) -> None:
    refused = await page.post("/sign-in", data={"key": "x" * 3_801})
    assert (refused.status_code, "a cookie can hold" in refused.text) == (401, True)


async def test_a_read_only_dashboard_shows_pages_and_refuses_forms(database_url: str, db: Connection) -> None:
    id = schedule(db)
    async with serving(create_app(Settings(database_url=database_url, dashboard="read-only"))) as api:
        assert "<form" not in (await api.get(f"/executions/{id}")).text
        refused = await api.post(f"/executions/{id}/cancel", headers=OWN | {"Host": "localhost"})
        assert (refused.status_code, "read-only" in refused.text) == (403, True)
        assert (await api.post(f"/v1/executions/{id}/cancel", json={})).status_code == 200


async def test_a_disabled_dashboard_has_no_pages(database_url: str) -> None:
    async with serving(create_app(Settings(database_url=database_url, dashboard="off"))) as api:
        for path in (*_PAGES, "/sign-in", "/static/style.css"):
            assert (await api.get(path)).status_code == 404


def test_every_page_requires_the_expected_scope(page_app: Litestar) -> None:
    found = {}
    for route in page_app.routes:
        for handler in (
            route.route_handlers if isinstance(route, HTTPRoute) and not route.path.startswith("/v1") else ()
        ):
            assert isinstance(handler, HTTPRouteHandler)
            if handler.opt.get(PAGE):
                found[route.path] = handler.opt["scope"]
    assert found == {
        "/": "read",
        "/now": "read",
        "/now/past": "read",
        "/now/coming": "read",
        "/now/findings": "admin",
        "/executions": "read",
        "/executions/{execution_id:uuid}": "read",
        "/executions/{execution_id:uuid}/cancel": "schedule",
        "/executions/{execution_id:uuid}/replay": "operate",
        "/executions/{execution_id:uuid}/discard": "operate",
        "/executions/{execution_id:uuid}/run-now": "schedule",
        "/executions/{execution_id:uuid}/edit": "schedule",
        "/bulk/new": "operate",
        "/bulk": "read",
        "/bulk/{operation_id:uuid}": "read",
        "/bulk/{operation_id:uuid}/stop": "operate",
        "/jobs/week": "read",
        "/jobs/{job_id:uuid}/edit": "schedule",
        "/jobs/{job_id:uuid}/backfill": "operate",
        "/jobs": "read",
        "/jobs/{job_id:uuid}": "read",
        "/jobs/{job_id:uuid}/cancel": "schedule",
        "/jobs/{job_id:uuid}/pause": "operate",
        "/jobs/{job_id:uuid}/resume": "operate",
        "/jobs/{job_id:uuid}/trigger": "operate",
        "/dead-letters": "read",
        "/clients": "read",
        "/client": "read",
        "/client/hold": "operate",
        "/client/release": "operate",
        "/client/settings": "admin",
        "/limits": "admin",
        "/limits/set": "admin",
        "/limits/drop": "admin",
        "/targets": "read",
        "/targets/sideline": "operate",
        "/targets/restore": "operate",
        "/ordering-keys": "read",
        "/ordering-keys/unblock": "operate",
        "/queues": "read",
        "/queues/{name:str}/pause": "admin",
        "/queues/{name:str}/resume": "admin",
        "/queues/{name:str}/settings": "admin",
        "/workers": "admin",
        "/workers/{worker:int}": "admin",
        "/workers/{worker:int}/drain": "admin",
        "/workers/{worker:int}/resume": "admin",
        "/database": "admin",
        "/audit": "admin",
    }
    assert PUBLIC not in found.values()


@pytest.mark.parametrize("shown", [True, False])
async def test_templates_are_compiled_at_startup_if_the_dashboard_is_on(shown: bool) -> None:
    rendering._environment.cache_clear()
    rendering.compile_templates.cache_clear()
    settings = Settings(database_url="postgresql://nobody@127.0.0.1:1/nothing", dashboard="on" if shown else "off")
    async with serving(create_app(settings)):
        pass
    environment = rendering._environment()
    assert len(environment.cache or ()) == (len(environment.list_templates()) if shown else 0)
