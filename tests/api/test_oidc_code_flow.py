"""Signing in at an OIDC provider: a real provider, and a fake provider whose wrong answers are refused."""

import json
import re
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from pgsched.api import oidc_code_flow
from pgsched.api.app import create_app
from pgsched.api.oidc_code_flow import PendingSignIn
from pgsched.api.pages.session import BEGUN, COOKIE
from pgsched.domain.identity_providers import parse_providers
from pgsched.errors import InvalidSettings
from pgsched.settings import Settings
from tests.api.oidc_arrange import ED, Faked, faked_provider, real_provider
from tests.api.serving import serving
from tests.conftest import Connection
from tests.store.store_arrange import column, schedule

ONCALL = {"claims": {"groups": "oncall"}, "clients": "all", "scopes": ["read", "operate"]}
RULE = {"claims": {"azp": "shop-backend"}, "clients": "all", "scopes": ["read"]}
OWN = {"Origin": "http://127.0.0.1", "Host": "127.0.0.1"}


def _given(issuer: str, rule: dict[str, Any] = RULE, **sign_in: Any) -> str:
    provider = {"audience": "pgsched", "rules": [rule], "sign_in": {"client_id": "dashboard", **sign_in}}
    return json.dumps({issuer: provider})


@pytest.fixture(scope="module")
def real() -> Iterator[str]:
    with real_provider() as issuer:
        yield issuer


@pytest.fixture
def provider() -> Iterator[Faked]:
    with faked_provider() as found:
        yield found


@pytest.fixture
async def browser(database_url: str, provider: Faked) -> AsyncIterator[httpx.AsyncClient]:
    """A browser on a dashboard that uses the fake provider."""
    async with serving(create_app(Settings(database_url=database_url, oidc=_given(provider.issuer)))) as client:
        client.headers.update({"Host": "127.0.0.1"})
        yield client


async def _signed_in(dashboard: httpx.AsyncClient, who: str) -> httpx.Response:
    """Signs in on the provider's pages and returns the dashboard's answer."""
    form = (await dashboard.get("/sign-in?next=/jobs")).text
    [path] = re.findall(r'href="(/sign-in/at[^"]+)"', form)
    there = await dashboard.get(path.replace("&amp;", "&"))
    async with httpx.AsyncClient(follow_redirects=False) as away:
        url = there.headers["location"]
        for _ in range(12):
            if url.startswith("http://127.0.0.1/sign-in/return"):
                return await dashboard.get(url)
            answer = await away.get(url)
            if answer.status_code == 200:
                [action] = re.findall(r'<form[^>]*action="([^"]+)"[^>]*method="post"', answer.text)
                [prompt] = re.findall(r'name="prompt" value="(\w+)"', answer.text)
                answer = await away.post(action, data={"prompt": prompt, "login": who, "password": "x"})
            url = str(answer.url.join(answer.headers["location"]))
    raise AssertionError("the provider did not return to the dashboard within 12 steps")


@pytest.mark.parametrize("client", ["dashboard", "confidential"])
async def test_a_user_gets_the_access_that_the_matching_rule_grants(
    database_url: str, db: Connection, real: str, tmp_path: Path, client: str
) -> None:
    id = schedule(db, every="1 hour", key="hourly")
    secret = tmp_path / "secret"
    secret.write_text("hush hush\n")
    more = {"client_secret_file": str(secret)} if client == "confidential" else {}
    oidc = _given(real, ONCALL, client_id=client, name="the company", **more)
    async with serving(create_app(Settings(database_url=database_url, oidc=oidc))) as dashboard:
        dashboard.headers.update(OWN)
        assert "Sign in with the company" in (await dashboard.get("/sign-in")).text
        done = await _signed_in(dashboard, "ann")
        assert (done.status_code, f"ann ({real})" in done.text) == (200, True), done.text
        assert 'content="0;url=/jobs"' in done.text
        kept = [one for one in done.headers.get_list("set-cookie") if one.startswith(COOKIE)]
        assert "HttpOnly" in kept[0]
        assert "SameSite=lax" in kept[0]
        assert (await dashboard.post(f"/jobs/{id}/pause")).status_code == 303
        assert (await dashboard.get("/database")).status_code == 403
        token = dashboard.cookies[COOKIE]
        assert (await dashboard.get("/v1/jobs", headers={"Authorization": f"Bearer {token}"})).status_code == 401
        dashboard.cookies.clear()
        nobody = await _signed_in(dashboard, "bob")
        assert (nobody.status_code, "no rule" in nobody.text, COOKIE in dashboard.cookies) == (401, True, False)
    who = column(db, "select distinct authenticated from pgsched.audit_log where action = 'pause'")
    assert who == [f"ann ({real})"]


def _answering(provider: Faked, token: str | None, status: int = 200) -> None:
    """Makes the fake provider return this token for any code."""
    told = {"authorization_endpoint": f"{provider.issuer}/auth", "token_endpoint": f"{provider.issuer}/token"}

    def answer(path: str) -> tuple[int, dict[str, str], bytes]:
        if path == "/token":
            return status, {}, json.dumps({"id_token": token}).encode()
        found, headers, body = provider.properly(path)
        return (
            (found, headers, body)
            if path.endswith("/jwks")
            else (found, {}, json.dumps(json.loads(body) | told).encode())
        )

    provider.answer = answer


async def _begun(browser: httpx.AsyncClient, provider: Faked) -> tuple[dict[str, list[str]], PendingSignIn]:
    _answering(provider, None)
    there = await browser.get("/sign-in/at", params={"issuer": provider.issuer, "next": "//evil.test"})
    assert there.status_code == 303, there.text
    begun = PendingSignIn.read(browser.cookies[BEGUN])
    return parse_qs(urlsplit(there.headers["location"]).query), begun


async def test_a_sign_in_sends_a_challenge_and_returns_to_the_requested_host(
    browser: httpx.AsyncClient, provider: Faked
) -> None:
    asked, begun = await _begun(browser, provider)
    assert asked["redirect_uri"] == ["http://127.0.0.1/sign-in/return"]
    assert (asked["state"], asked["nonce"], asked["code_challenge"]) == (
        [begun.state],
        [begun.nonce],
        [begun.challenge],
    )
    assert (asked["code_challenge_method"], asked["scope"], begun.next) == (["S256"], ["openid"], "/")
    for path in ("/sign-in/at", "/sign-in/return"):
        assert (await browser.get(path, headers={"Host": "evil.test"})).status_code == 403
    behind_tls = await browser.get(
        "/sign-in/at", params={"issuer": provider.issuer}, headers={"X-Forwarded-Proto": "https"}
    )
    assert "redirect_uri=https%3A%2F%2F127.0.0.1%2F" in behind_tls.headers["location"]
    assert behind_tls.headers["set-cookie"].startswith(f"__Host-{BEGUN}=")
    for part in ("Secure", "Path=/;"):
        assert part in behind_tls.headers["set-cookie"] + ";"
    assert (await browser.get("/sign-in/at", params={"issuer": "https://evil.test"})).status_code == 401


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({}, None),
        ({"state": "another"}, "belongs to another sign-in"),
        ({"iss": "https://evil.test"}, "another provider"),
        ({"code": None, "error": "access_denied"}, "access_denied"),
        ({"claims": {"nonce": "another"}}, "belongs to another sign-in"),
        ({"claims": {"nonce": None}}, "belongs to another sign-in"),
        ({"claims": {"aud": "somebody"}}, "Audience"),
        ({"claims": {"exp": 1}}, "expired"),
        ({"claims": {"key": None}}, "no identity token"),
        ({"status": 400}, "no token for the code"),
        ({"cookie": "x"}, "not started in this browser"),
    ],
)
async def test_only_a_valid_answer_to_the_pending_sign_in_is_accepted(
    browser: httpx.AsyncClient, provider: Faked, wrong: dict[str, Any], said: str | None
) -> None:
    _, begun = await _begun(browser, provider)
    claims = {"aud": "dashboard", "nonce": begun.nonce} | wrong.get("claims", {})
    token = provider.token(**{name: value for name, value in claims.items() if name != "key"}, key=ED)
    _answering(provider, None if "key" in claims else token, wrong.get("status", 200))
    answer = {"state": begun.state, "code": "c", "iss": provider.issuer} | wrong
    query = {name: answer[name] for name in ("state", "code", "iss", "error") if answer.get(name)}
    if "cookie" in wrong:
        browser.cookies.set(BEGUN, "x", path="/sign-in")
    done = await browser.get("/sign-in/return", params=query)
    if said is None:
        assert (done.status_code, browser.cookies.get(COOKIE)) == (200, token)
        assert (await browser.get("/executions")).status_code == 200
    else:
        assert (done.status_code, said in done.text) == (401, True), done.text
        assert COOKIE not in browser.cookies


async def test_forged_answers_cause_few_requests_to_the_provider(
    browser: httpx.AsyncClient, provider: Faked, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(oidc_code_flow, "_RETURNS", 0.001)
    monkeypatch.setattr(oidc_code_flow, "_RETURNS_AT_ONCE", 3)
    _answering(provider, None, status=400)
    statuses = Counter[int]()
    for number in range(5):
        begun = PendingSignIn.at(provider.issuer, "/")
        for _ in range(2):
            browser.cookies.set(BEGUN, begun.written(), path="/sign-in")
            done = await browser.get("/sign-in/return", params={"state": begun.state, "code": f"c{number}"})
            statuses[done.status_code] += 1
    asked = sum(path == "/token" for path in provider.asked)
    assert (asked, statuses) == (3, {401: 6, 429: 4})


async def test_a_failing_provider_is_reported_and_api_key_sign_in_is_offered(
    browser: httpx.AsyncClient, provider: Faked
) -> None:
    provider.answer = lambda _: (500, {}, b"")
    for _ in range(2):
        away = await browser.get("/sign-in/at", params={"issuer": provider.issuer})
        assert (away.status_code, "try again" in away.text, 'name="key"' in away.text) == (503, True, True)
    assert len(provider.asked) == 1


@pytest.mark.parametrize(
    "sign_in",
    [{}, {"client_id": 1}, {"client_id": "a", "scopes": ["email"]}, {"client_id": "a", "other": 1}, "dashboard"],
)
def test_invalid_sign_in_settings_are_refused_at_startup(sign_in: Any) -> None:
    given = json.dumps({"https://login.example": {"audience": "pgsched", "rules": [RULE], "sign_in": sign_in}})
    with pytest.raises(InvalidSettings, match="sign_in needs the"):
        parse_providers(given)


def test_an_unreadable_client_secret_is_refused_at_startup() -> None:
    oidc = _given("https://login.example", client_secret_file="/nowhere/at/all")
    with pytest.raises(InvalidSettings, match="client_secret_file"):
        create_app(Settings(database_url="postgresql://nobody@127.0.0.1/none", oidc=oidc))
