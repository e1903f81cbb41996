"""The official Standard Webhooks libraries verify callbacks, byte for byte."""

import json
import time
from typing import Any

import pytest
from standardwebhooks import Webhook

from pgsched.domain.attempt_outcome import Succeeded
from pgsched.domain.execution_options import Options
from pgsched.domain.secret import parse_signing_secret
from tests.delivery.receiver import calling, execution, receiving
from tests.node.running import run

NEW = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo="
FORMER = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oDC2FVsBQIhrs="
OTHER = "whsec_" + "A" * 32
CALLBACKS = [
    (method, payload) for method in ("POST", "PUT", "PATCH") for payload in (None, b'{"n": 1.50, "x": "\xc3\xbc"}')
]


async def _received() -> list[Any]:
    secrets = [parse_signing_secret(NEW), parse_signing_secret(FORMER)]
    async with receiving() as receiver, calling(secrets=lambda _: secrets, now=lambda: int(time.time())) as channel:
        for method, payload in CALLBACKS:
            row = execution(receiver.url, payload=payload)
            assert await channel.deliver(row, Options(method=method), 5) == Succeeded(status_code=200)
    return receiver.requests


async def test_the_python_library_accepts_every_callback_with_either_secret() -> None:
    for request, (_, payload) in zip(await _received(), CALLBACKS, strict=True):
        for secret in (NEW, FORMER):
            assert Webhook(secret).verify(request.body, request.headers) == json.loads(payload or b"{}")


async def test_the_node_library_accepts_either_secret_and_no_other_secret() -> None:
    found = await _received()
    given = [
        {"secret": secret, "headers": request.headers, "body": request.body.decode()}
        for secret in (NEW, FORMER, OTHER)
        for request in found
    ]
    taken = [[{"payload": json.loads(payload or b"{}")}] * 3 for _, payload in CALLBACKS]
    refused = [[{"error": "No matching signature found"}] * 3] * len(CALLBACKS)
    assert run("verify.mjs", given) == taken + taken + refused


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "GET"])
async def test_a_missing_payload_is_an_empty_object_only_in_a_signed_body(method: str) -> None:
    made = {True: b"{}" if method in ("POST", "PUT", "PATCH") else b"", False: b""}
    for signed, body in made.items():
        keys = [b"s" * 32] if signed else []
        async with receiving() as receiver, calling(secrets=lambda _, keys=keys: keys) as channel:
            await channel.deliver(execution(receiver.url, payload=None), Options(method=method), 5)
        assert receiver.requests[0].body == body
        assert ("content-type" in receiver.requests[0].headers) == bool(body)
