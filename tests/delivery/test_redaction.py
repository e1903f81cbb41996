"""Secrets that a target echoes in its answer are redacted."""

import asyncio
import json

import pytest

from pgsched.delivery.redaction import redacted
from pgsched.domain.attempt_outcome import LONGEST_ERROR, Failed, Succeeded
from pgsched.domain.execution_options import parse_options
from tests.delivery.receiver import Request, answering, calling, execution, receiving

NAMED = parse_options(b'{"headers": {"authorization": {"secret": "token", "prefix": "Bearer "}, "x-shop": "42"}}')


async def secret(client: str, name: str, host: str) -> str:
    return 'hush-"hush"-hush\n'


async def echoing(request: Request, writer: asyncio.StreamWriter) -> None:
    given = request.headers["authorization"]
    told = {"plain": given, "json": json.dumps(request.headers), "again": [given] * 3}
    await answering(f"500 no {given}", json.dumps(told).encode() + given.encode())(request, writer)


async def test_a_secret_in_an_error_is_redacted() -> None:
    async with receiving(echoing) as receiver, calling(get_secret=secret) as channel:
        outcome = await channel.deliver(execution(receiver.url), NAMED, 5)
    assert isinstance(outcome, Failed)
    assert receiver.requests[0].headers["authorization"] == 'Bearer hush-"hush"-hush'
    assert "hush" not in outcome.error
    assert outcome.error.startswith('answered 500 no Bearer …: {"plain": "Bearer …"')
    assert "42" in outcome.error


async def test_a_secret_in_a_kept_answer_is_redacted() -> None:
    asked = parse_options(b'{"headers": {"authorization": {"secret": "token"}}, "keep_answer": true}')

    async def respond(request: Request, writer: asyncio.StreamWriter) -> None:
        await answering("200 OK", json.dumps(request.headers).encode())(request, writer)

    async with receiving(respond) as receiver, calling(get_secret=secret) as channel:
        outcome = await channel.deliver(execution(receiver.url), asked, 5)
    assert isinstance(outcome, Succeeded)
    assert outcome.result is not None
    assert json.loads(outcome.result)["authorization"] == "…"
    assert b"hush" not in outcome.result


@pytest.mark.parametrize(
    "told",
    [
        r"a\/hush+b\/hush==\"'&<",
        r"a/hush\u002Bb/hush==\u0022\u0027\u0026\u003C",
        r"a/hush+b/hush==\"'\u0026\u003c",
        "a%2Fhush%2Bb%2Fhush%3D%3D%22%27%26%3C",
        "a/hush%2Bb/hush%3D%3D%22%27%26%3C",
        "a/hush+b/hush==&quot;&#x27;&amp;&lt;",
    ],
)
def test_a_secret_is_redacted_in_every_encoding(told: str) -> None:
    assert redacted(["a/hush+b/hush==\"'&<"], f"x {told} y".encode()) == "x … y".encode()


@pytest.mark.parametrize("before", range(LONGEST_ERROR - 20, LONGEST_ERROR + 2))
async def test_a_secret_cut_off_by_truncation_is_redacted(before: int) -> None:
    body = "é" * (2 * before) + 'hush-"hush"-hush'
    shown = redacted(['hush-"hush"-hush'], body.encode()[: 4 * LONGEST_ERROR]).decode("utf-8", "replace")
    assert "hush" not in shown


def test_the_longest_secret_is_redacted_first_and_other_text_stays() -> None:
    assert redacted(["hush", "hush-hush", "a", ""], b"a hush-hush is a hush") == "a … is a …".encode()
    assert redacted([], b"hush") == b"hush"
