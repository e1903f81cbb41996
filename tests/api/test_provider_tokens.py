"""OIDC provider tokens: which are accepted, what they grant, and the limits on requests to providers."""

import asyncio
import base64
import json
import threading
import time
import tomllib
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import jwt
import pytest
from cryptography.hazmat.primitives import serialization

from pgsched.api import provider_keys
from pgsched.api.app import create_app
from pgsched.api.authentication import Authentication
from pgsched.api.connection_pool import Database
from pgsched.api.provider_tokens import BearerTokens
from pgsched.domain.identity_providers import parse_providers
from pgsched.errors import InvalidSettings, Refused, TooManyRequests, Unauthenticated, Unavailable
from pgsched.settings import Settings
from pgsched.telemetry import Events
from tests.api.access_arrange import make_key
from tests.api.oidc_arrange import EC, RSA, RULE, Faked, faked_provider, real_provider, settings
from tests.api.serving import serving
from tests.conftest import Connection
from tests.docs.fences import blocks_of, pages
from tests.store.store_arrange import column, schedule

SHOP = frozenset({"shop"})
FROM_CLAIMS = {
    "claims": {"realm_access.roles": "scheduling"},
    "clients": {"claim": "pgsched_clients"},
    "scopes": {"claim": "scope", "prefix": "pgsched:"},
}


@pytest.fixture(scope="module")
def real() -> Iterator[str]:
    with real_provider() as issuer:
        yield issuer


@pytest.fixture
def provider() -> Iterator[Faked]:
    with faked_provider() as found:
        yield found


@pytest.fixture
def bearer(provider: Faked) -> BearerTokens:
    return BearerTokens(settings(provider.issuer), Events())


async def issued(issuer: str, algorithm: str) -> str:
    form = {"grant_type": "client_credentials", "resource": f"urn:pgsched:{algorithm}"}
    form["scope"] = "pgsched:schedule pgsched:read"
    async with httpx.AsyncClient() as client:
        answer = await client.post(f"{issuer}/token", data=form, auth=("shop-backend", "hush"))
    return str(answer.json()["access_token"])


async def test_a_provider_token_grants_the_clients_and_scopes_in_its_claims(
    real: str, database_url: str, db: Connection
) -> None:
    for client in ("shop", "billing"):
        schedule(db, every="1 hour", client=client)
    given = Settings(database_url=database_url, oidc=settings(real, FROM_CLAIMS).oidc)
    async with serving(create_app(given)) as api:
        for algorithm in ("RS256", "ES256", "EdDSA"):
            api.headers["Authorization"] = f"Bearer {await issued(real, algorithm)}"
            answer = await api.get("/v1/jobs")
            assert (answer.status_code, [one["client"] for one in answer.json()["items"]]) == (200, ["shop"])
        body = {"target": "python:note", "schedule": {"every": "1h"}}
        assert (await api.post("/v1/jobs", json=body | {"client": "shop"})).status_code == 201
        assert (await api.post("/v1/jobs", json=body | {"client": "billing"})).status_code == 403
        assert (await api.get("/v1/keys")).status_code == 403
        del api.headers["Authorization"]
        assert (await api.get("/v1/jobs")).status_code == 401  # although no key exists
    who = column(db, "select distinct authenticated from pgsched.audit_log where authenticated is not null")
    assert who == [f"shop-backend ({real})"]


async def test_a_providers_rotated_signing_keys_are_fetched(real: str, monkeypatch: pytest.MonkeyPatch) -> None:
    bearer = BearerTokens(settings(real, FROM_CLAIMS), Events())
    former = await issued(real, "ES256")
    assert (await bearer.grant(former)).clients == SHOP
    async with httpx.AsyncClient() as client:
        assert (await client.post(f"{real}/rotate")).status_code == 200
    monkeypatch.setattr(provider_keys, "_AGAIN", 0.0)
    assert (await bearer.grant(await issued(real, "ES256"))).scopes == frozenset({"schedule", "read"})
    with pytest.raises(Unauthenticated, match="has no key with"):
        await bearer.grant(former)


def _none(provider: Faked) -> str:
    head, claims, _ = provider.token().split(".")
    told = json.loads(base64.urlsafe_b64decode(head + "==")) | {"alg": "none"}
    return f"{base64.urlsafe_b64encode(json.dumps(told).encode()).decode().rstrip('=')}.{claims}."


def _signed_by_the_public_key(provider: Faked) -> str:
    public = RSA.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    claims = json.dumps(jwt.decode(provider.token(), options={"verify_signature": False})).encode()
    head = json.dumps({"alg": "HS256", "typ": "JWT", "kid": "rsa"}).encode()
    signed = b".".join(base64.urlsafe_b64encode(part).rstrip(b"=") for part in (head, claims))
    signature = jwt.algorithms.HMACAlgorithm(jwt.algorithms.HMACAlgorithm.SHA256)
    made = base64.urlsafe_b64encode(signature.sign(signed, public)).rstrip(b"=")
    return (signed + b"." + made).decode()


def _with_its_own_key(provider: Faked) -> str:
    other = jwt.algorithms.ECAlgorithm.to_jwk(EC.public_key(), as_dict=True)
    return provider.token(key=EC, alg="ES256", kid="ed", head={"jwk": other, "jku": "http://127.0.0.1:1/jwks"})


BAD: dict[str, Callable[[Faked], str]] = {
    "the algorithm none": _none,
    "HS256 with the public key": _signed_by_the_public_key,
    "a key in its own header": _with_its_own_key,
    "the id of another key": lambda p: p.token(kid="ec"),
    "the algorithm of another key": lambda p: p.token(key=EC, alg="ES256", kid="rsa"),
    "an unknown key id": lambda p: p.token(kid="nobody"),
    "no key id": lambda p: p.token(kid=None),
    "expired": lambda p: p.token(exp=int(time.time()) - 6),
    "no expiry": lambda p: p.token(exp=None),
    "an invalid expiry": lambda p: p.token(exp="never"),
    "not yet valid": lambda p: p.token(nbf=int(time.time()) + 60),
    "issued in the future": lambda p: p.token(iat=int(time.time()) + 60),
    "another audience": lambda p: p.token(aud="shop"),
    "no audience": lambda p: p.token(aud=None),
    "audiences that contain part of the name": lambda p: p.token(aud=["pgsched-staging", "pg"]),
    "another issuer": lambda p: p.token(iss="https://login.example"),
    "the issuer with a slash": lambda p: p.token(iss=f"{p.issuer}/"),
    "no subject": lambda p: p.token(sub=None),
    "NUL in the subject": lambda p: p.token(sub="a\0b"),
    "a logout token": lambda p: p.token(head={"typ": "logout+jwt"}),
    "an unknown critical header": lambda p: p.token(head={"crit": ["x"], "x": 1}),
    "a truncated signature": lambda p: p.token()[:-8],
    "too long": lambda p: p.token(padding="x" * 20_000),
    "deeply nested JSON": lambda p: ".".join([base64.urlsafe_b64encode(b"[" * 9000).decode().rstrip("=")] * 2 + ["x"]),
    "not a token": lambda p: "a.b.c",
}


@pytest.mark.parametrize("kind", BAD)
async def test_an_invalid_token_is_refused(kind: str, provider: Faked, bearer: BearerTokens) -> None:
    with pytest.raises(Unauthenticated):
        await bearer.grant(BAD[kind](provider))


async def test_audience_lists_and_times_within_the_leeway_are_accepted(provider: Faked, bearer: BearerTokens) -> None:
    now = int(time.time())
    for more in (
        {"aud": ["shop", "pgsched"]},
        {"exp": now - 1},
        {"nbf": now + 2},
        {"key": RSA, "alg": "RS256", "kid": "rsa"},
    ):
        found = await bearer.grant(provider.token(**more))
        assert (found.clients, found.scopes) == (SHOP, frozenset({"schedule", "read"}))
    strict = BearerTokens(settings(provider.issuer, leeway=0), Events())
    with pytest.raises(Unauthenticated, match="expired"):
        await strict.grant(provider.token(exp=now - 1))


async def test_an_issuer_differing_by_a_trailing_slash_is_refused() -> None:
    with faked_provider("/realms/shop/") as provider:
        bearer = BearerTokens(settings(provider.issuer), Events())
        assert (await bearer.grant(provider.token())).clients == SHOP
        assert provider.asked == ["/realms/shop/.well-known/openid-configuration", "/realms/shop/jwks"]
        with pytest.raises(Unauthenticated):
            await bearer.grant(provider.token(iss=provider.issuer.rstrip("/")))


@pytest.mark.parametrize(
    ("claims", "told"),
    [
        ({"azp": "other"}, "no rule"),
        ({"azp": None}, "no rule"),
        ({"azp": "claims"}, "names 0"),
        ({"azp": "claims", "tenants": [""]}, "names 0"),
        ({"azp": "claims", "tenants": ["x\0"]}, "names 0"),
        ({"azp": "claims", "tenants": {"all": True}}, "names 0"),
        ({"azp": "claims", "tenants": [f"t{n}" for n in range(101)]}, "names 101"),
    ],
)
async def test_a_valid_token_without_a_matching_rule_is_refused(
    claims: dict[str, Any], told: str, provider: Faked
) -> None:
    by_claim = {"claims": {"azp": "claims"}, "clients": {"claim": "tenants"}, "scopes": ["read"]}
    bearer = BearerTokens(settings(provider.issuer, RULE, by_claim), Events())
    with pytest.raises(Refused, match=told):
        await bearer.grant(provider.token(**claims))


async def test_claims_grant_only_known_scopes_and_literal_client_names(provider: Faked) -> None:
    rule = {**FROM_CLAIMS, "claims": {"azp": "shop-backend"}}
    bearer = BearerTokens(settings(provider.issuer, rule), Events())
    found = await bearer.grant(provider.token(scope="openid admin pgsched:read pgsched:all", pgsched_clients="all *"))
    assert (found.clients, found.scopes) == (
        frozenset({"all", "*"}),
        frozenset({"read"}),
    )  # here "all" and "*" are ordinary client names


@pytest.mark.parametrize(
    "how", ["large", "redirects", "another issuer", "compressed", "no keys", "keys elsewhere", "fails"]
)
async def test_invalid_provider_answers_are_refused_and_not_requested_again(
    how: str, provider: Faked, bearer: BearerTokens
) -> None:
    def answer(path: str) -> tuple[int, dict[str, str], bytes]:
        told: dict[str, Any] = {"issuer": provider.issuer, "jwks_uri": f"{provider.issuer}/jwks"}
        if how == "large" and path == "/jwks":
            return 200, {}, json.dumps({"keys": provider.keys, "more": "x" * 10_000_000}).encode()
        if how == "redirects":
            return 302, {"Location": f"{provider.issuer}/elsewhere"}, b""
        if how == "compressed":
            return 200, {"Content-Encoding": "gzip"}, b"\x1f\x8b"
        if how == "no keys" and path == "/jwks":
            return 200, {}, b'{"keys": {"kid": 1}}'
        if how == "fails":
            return 500, {}, b""
        told |= {"issuer": "https://login.example"} if how == "another issuer" else {}
        told |= {"jwks_uri": "http://192.0.2.1/jwks"} if how == "keys elsewhere" else {}
        return 200, {}, json.dumps(told).encode()

    provider.answer = answer
    with pytest.raises(Unavailable, match="cannot be fetched"):
        await bearer.grant(provider.token())
    asked = list(provider.asked)
    with pytest.raises(Unavailable):
        await bearer.grant(provider.token())
    assert provider.asked == asked
    assert "/elsewhere" not in asked


async def test_forged_tokens_cause_no_repeated_requests_to_the_provider(provider: Faked, bearer: BearerTokens) -> None:
    for number in range(50):
        with pytest.raises(Unauthenticated):
            await bearer.grant(provider.token(kid=f"made-up-{number}"))
    assert len(provider.asked) == 2
    assert (await bearer.grant(provider.token())).clients == SHOP


async def test_cached_provider_keys_are_used_while_the_provider_is_down(
    provider: Faked, bearer: BearerTokens, monkeypatch: pytest.MonkeyPatch
) -> None:
    await bearer.grant(provider.token())
    provider.answer = lambda _: (500, {}, b"")
    monkeypatch.setattr(provider_keys, "_AGAIN", 0.0)
    monkeypatch.setattr(provider_keys, "_FRESH", 0.0)
    assert (await bearer.grant(provider.token())).clients == SHOP
    with pytest.raises(Unavailable):
        await bearer.grant(provider.token(kid="new"))
    assert (await bearer.grant(provider.token())).clients == SHOP
    monkeypatch.setattr(provider_keys, "_STALE", 0.0)
    with pytest.raises(Unavailable):
        await bearer.grant(provider.token())


async def test_a_hanging_provider_does_not_block_api_keys(
    provider: Faked, database_url: str, db: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on = threading.Event()
    provider.answer = lambda path: (go_on.wait(10), provider.properly(path))[1]
    key = make_key(db, clients=["shop"], scopes=["read"])
    database = Database(database_url, Events())
    await database.open()
    both = Authentication(database, is_open=False, bearer=BearerTokens(settings(provider.issuer), Events()))
    waiting = [asyncio.create_task(both.grant(f"Bearer {provider.token()}")) for _ in range(20)]
    await asyncio.to_thread(provider.arrived.wait, 10)
    assert (await both.grant(f"Bearer {key}")).clients == SHOP
    assert not any(task.done() for task in waiting)
    go_on.set()
    assert {grant.subject for grant in await asyncio.gather(*waiting)} == {f"42 ({provider.issuer})"}
    assert len(provider.asked) == 2
    await database.close()


async def test_requests_to_a_provider_time_out(
    provider: Faked, bearer: BearerTokens, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on = threading.Event()
    provider.answer = lambda path: (go_on.wait(10), provider.properly(path))[1]
    monkeypatch.setattr(provider_keys, "LONGEST", 0.1)
    with pytest.raises(Unavailable, match="Timeout"):
        await bearer.grant(provider.token())
    go_on.set()


async def test_each_subject_is_limited_to_its_providers_rate(provider: Faked) -> None:
    held = BearerTokens(settings(provider.issuer, rate=1, burst=3), Events())
    for _ in range(3):
        await held.grant(provider.token())
    with pytest.raises(TooManyRequests, match=r"42 .* is limited to 1 request a second"):
        await held.grant(provider.token(jti="another token of the same subject"))
    await held.grant(provider.token(sub="43"))
    await held.grant(provider.token(), counted=False)


@pytest.mark.parametrize(
    "given",
    [
        {"http://login.example": {"audience": "a", "rules": [RULE]}},
        {"https://login.example": {"rules": [RULE]}},
        {"https://login.example": {"audience": "a", "rules": []}},
        {"https://login.example": {"audience": "a", "rules": [{**RULE, "claims": {}}]}},
        {"https://login.example": {"audience": "a", "rules": [{**RULE, "claims": {"azp": None}}]}},
        {"https://login.example": {"audience": "a", "rules": [{**RULE, "scopes": ["everything"]}]}},
        {"https://login.example": {"audience": "a", "rules": [{**RULE, "clients": "some"}]}},
        {"https://login.example": {"audience": "a", "rules": [RULE], "algorithms": ["HS256"]}},
        {"https://login.example": {"audience": "a", "rules": [RULE], "algorithms": ["none"]}},
        {"https://login.example": {"audience": "a", "rules": [RULE], "leeway": 3600}},
        {"https://login.example": {"audience": "a", "rules": [RULE], "audiences": []}},
        {"https://login.example": {"audience": "a", "rules": [RULE], "rate": 0}},
        {"https://login.example": {"audience": "a", "rules": [RULE], "rate": True}},
        {"https://login.example": {"audience": "a", "rules": [RULE], "rate": 1.5}},
        {"https://login.example": {"audience": "a", "rules": [RULE], "burst": 5}},
    ],
)
def test_invalid_oidc_settings_are_refused(given: Any) -> None:
    with pytest.raises(InvalidSettings, match="oidc"):
        parse_providers(json.dumps(given))


def test_the_rules_in_the_guide_are_valid() -> None:
    page = next(page for page in pages() if page.name == "oidc.md")
    found = [tomllib.loads(block.text)["oidc"] for block in blocks_of(page) if block.language == "toml"]
    assert len(found) >= 5
    for given in found:
        assert parse_providers(json.dumps({issuer: {"audience": "pgsched"} | one for issuer, one in given.items()}))


def test_a_rule_with_clients_all_grants_all_clients() -> None:
    everybody = {**RULE, "clients": "all"}
    [found] = parse_providers(json.dumps({"https://login.example": {"audience": "a", "rules": [everybody]}})).values()
    assert found.grant({"sub": "ann", "azp": "shop-backend"}).clients is None
