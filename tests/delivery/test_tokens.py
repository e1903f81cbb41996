"""Tokens for targets: fetched once, used until they expire or are refused, and never shown."""

import asyncio
import base64
import json
from typing import Any
from urllib.parse import parse_qs

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from pgsched.domain.attempt_outcome import Failed, Succeeded
from pgsched.domain.execution_options import Options, parse_options
from tests.delivery.receiver import NOW, Request, Respond, answering, calling, execution, receiving


def oauth2(url: str, **more: Any) -> Options:
    auth = {"token_url": f"{url}/token", "client_id": "pg:sched", "client_secret": "oauth", **more}
    return parse_options(json.dumps({"auth": {"oauth2": auth}}).encode())


async def secret(client: str, name: str, host: str) -> str:
    return f"hush of {client}"


def issuing(*tokens: str, seconds: int = 600) -> Respond:
    """A token endpoint that issues these tokens in order, then repeats the last."""
    left = list(tokens)

    async def respond(request: Request, writer: asyncio.StreamWriter) -> None:
        token = left.pop(0) if len(left) > 1 else left[0]
        answer = {"access_token": token, "token_type": "Bearer", "expires_in": seconds}
        await answering(body=json.dumps(answer).encode())(request, writer)

    return respond


def taking(*tokens: str) -> Respond:
    """A target that accepts only these tokens."""

    async def respond(request: Request, writer: asyncio.StreamWriter) -> None:
        is_known = request.headers.get("authorization", "").removeprefix("Bearer ") in tokens
        await answering("200 OK" if is_known else "401 Unauthorized")(request, writer)

    return respond


async def test_many_callbacks_share_one_token() -> None:
    async with (
        receiving(taking("t1")) as target,
        receiving(issuing("t1")) as issuer,
        calling(get_secret=secret) as channel,
    ):
        options = oauth2(issuer.url, scope="settle")
        calls = [channel.deliver(execution(target.url), options, 5) for _ in range(5)]
        assert await asyncio.gather(*calls) == [Succeeded(status_code=200)] * 5
    [asked] = issuer.requests
    assert parse_qs(asked.body.decode()) == {"grant_type": ["client_credentials"], "scope": ["settle"]}
    pair = base64.b64decode(asked.headers["authorization"].removeprefix("Basic ")).decode()
    assert pair.startswith("pg%3Asched:hush+of+")


async def test_each_client_has_its_own_token() -> None:
    async with receiving() as target, receiving(issuing("t1", "t2")) as issuer, calling(get_secret=secret) as channel:
        for client in ("shop", "orders", "shop"):
            await channel.deliver(execution(target.url)._replace(client_id=client), oauth2(issuer.url), 5)
    assert [request.headers["authorization"] for request in target.requests] == ["Bearer t1", "Bearer t2", "Bearer t1"]


async def test_a_token_is_refreshed_before_it_expires() -> None:
    async with (
        receiving() as target,
        receiving(issuing("t1", "t2", seconds=0)) as issuer,
        calling(get_secret=secret) as channel,
    ):
        for _ in range(2):
            await channel.deliver(execution(target.url), oauth2(issuer.url), 5)
    assert [request.headers["authorization"] for request in target.requests] == ["Bearer t1", "Bearer t2"]


async def test_a_revoked_token_is_replaced_within_the_attempt(monkeypatch: pytest.MonkeyPatch) -> None:
    async with (
        receiving(taking("t1")) as target,
        receiving(issuing("t1", "t2")) as issuer,
        calling(get_secret=secret) as channel,
    ):
        await channel.deliver(execution(target.url), oauth2(issuer.url), 5)
        target.respond = taking("t2")
        monkeypatch.setattr("pgsched.delivery.tokens._FRESH", 0.0)
        assert await channel.deliver(execution(target.url), oauth2(issuer.url), 5) == Succeeded(status_code=200)
    assert len(issuer.requests) == 2


async def test_a_target_that_refuses_a_new_token_gets_no_second_request() -> None:
    async with receiving(taking()) as target, receiving(issuing("t1")) as issuer, calling(get_secret=secret) as channel:
        outcome = await channel.deliver(execution(target.url), oauth2(issuer.url), 5)
    assert isinstance(outcome, Failed)
    assert (outcome.status_code, len(target.requests), len(issuer.requests)) == (401, 1, 1)


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (
            answering("401 Unauthorized", b'{"error": "invalid_client", "error_description": "hush"}'),
            "401 (invalid_client)",
        ),
        (answering("200 OK", b"hush"), "status 200"),
        (answering("200 OK", b'{"access_token": "hush\\r\\nx: 1"}'), "status 200"),
        (answering("302 Found", b"", "Location: http://127.0.0.1/"), "status 302"),
    ],
    ids=["refused", "no JSON", "a line more", "redirect"],
)
async def test_a_failed_token_request_is_retryable_and_calls_no_target(answer: Respond, says: str) -> None:
    async with receiving() as target, receiving(answer) as issuer, calling(get_secret=secret) as channel:
        outcome = await channel.deliver(execution(target.url), oauth2(issuer.url), 5)
    assert isinstance(outcome, Failed)
    assert (outcome.retryable, says in outcome.error, "hush" in outcome.error) == (True, True, False)
    assert target.requests == []


async def test_a_token_endpoint_in_a_private_network_is_refused() -> None:
    async with receiving(issuing("t1")) as issuer, calling(get_secret=secret, allow_private=False) as channel:
        outcome = await channel.deliver(execution("https://shop.example/x"), oauth2(issuer.url), 5)
    assert isinstance(outcome, Failed)
    assert issuer.requests == []


async def test_a_hanging_token_endpoint_times_out_at_the_deadline() -> None:
    async def hang(request: Request, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(60)

    async with receiving() as target, receiving(hang) as issuer, calling(get_secret=secret) as channel:
        outcome = await channel.deliver(execution(target.url), oauth2(issuer.url), 0.2)
    assert isinstance(outcome, Failed)
    assert "within 0.2 s" in outcome.error


async def test_a_service_account_token_is_issued_for_the_targets_origin() -> None:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    pem = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ).decode()
    async with receiving() as target, receiving(answering(body=b'{"id_token": "t1"}')) as issuer:
        account = {"client_email": "a@b.example", "token_uri": f"{issuer.url}/token", "private_key": pem}

        async def account_key(client: str, name: str, host: str) -> str:
            return json.dumps(account) if name == "sa" else "hush"

        options = [parse_options(f'{{"auth": {{"google": {{"key": "{name}"}}}}}}'.encode()) for name in ("sa", "other")]
        async with calling(get_secret=account_key) as channel:
            assert await channel.deliver(execution(target.url), options[0], 5) == Succeeded(status_code=200)
            failed = await channel.deliver(execution(target.url), options[1], 5)
    form = parse_qs(issuer.requests[0].body.decode())
    checks: Any = {"verify_exp": False, "verify_iat": False}
    claims = jwt.decode(
        form["assertion"][0], key.public_key(), ["RS256"], audience=f"{issuer.url}/token", options=checks
    )
    assert (claims["target_audience"], claims["iss"], claims["iat"]) == (target.url, "a@b.example", NOW)
    assert target.requests[0].headers["authorization"] == "Bearer t1"
    assert isinstance(failed, Failed)
    assert "hush" not in failed.error


async def test_a_channel_without_secrets_reports_a_missing_secret() -> None:
    async with receiving() as target, calling() as channel:
        outcome = await channel.deliver(execution(target.url), oauth2(target.url), 5)
    assert outcome == Failed(error="there is no secret oauth", retryable=True)
