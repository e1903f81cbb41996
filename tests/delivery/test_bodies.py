"""Non-JSON bodies are sent and signed byte for byte."""

import base64
import hashlib
import hmac

import orjson
import pytest

from pgsched.domain.attempt_outcome import Failed, Succeeded
from pgsched.domain.body import body_of
from pgsched.domain.execution_options import Options
from tests.delivery.receiver import NOW, calling, execution, receiving

_EVERY_BYTE = bytes(range(256))
_FORM = {"name": "Müller & Söhne", "n": 1, "paid": True, "item": ["a=b", "c d"]}


@pytest.mark.parametrize(
    ("option", "payload", "sent", "kind"),
    [
        ({"format": "text"}, "Grüße\r\n\u2028", "Grüße\r\n\u2028".encode(), "text/plain; charset=utf-8"),
        ({"format": "text", "type": "text/csv"}, "a,b\n1,2\n", b"a,b\n1,2\n", "text/csv"),
        ({"format": "text"}, "", b"", "text/plain; charset=utf-8"),
        ({"format": "base64"}, base64.b64encode(_EVERY_BYTE).decode(), _EVERY_BYTE, "application/octet-stream"),
        ({"format": "base64", "type": "application/pdf"}, "JVBERg==", b"%PDF", "application/pdf"),
        (
            {"format": "form"},
            _FORM,
            b"name=M%C3%BCller+%26+S%C3%B6hne&n=1&paid=true&item=a%3Db&item=c+d",
            "application/x-www-form-urlencoded",
        ),
    ],
)
async def test_a_body_is_sent_in_the_requested_format(
    option: dict[str, str], payload: object, sent: bytes, kind: str
) -> None:
    options = Options(body=body_of(option))
    async with receiving() as receiver, calling() as channel:
        row = execution(receiver.url)._replace(payload=orjson.dumps(payload))
        assert isinstance(await channel.deliver(row, options, 5), Succeeded)
    [request] = receiver.requests
    assert (request.body, request.headers["content-type"]) == (sent, kind)
    assert request.headers["content-length"] == str(len(sent))


async def test_a_form_body_keeps_numbers_exactly_as_stored() -> None:
    options = Options(body=body_of({"format": "form"}))
    async with receiving() as receiver, calling() as channel:
        row = execution(receiver.url)._replace(payload=b'{"amount": 1.10, "large": 12345678901234567890}')
        await channel.deliver(row, options, 5)
    assert receiver.requests[0].body == b"amount=1.10&large=12345678901234567890"


async def test_the_signature_covers_the_bytes_sent() -> None:
    secret = b"0123456789abcdef01234567"
    options = Options(body=body_of({"format": "base64"}))
    async with receiving() as receiver, calling(secrets=lambda client: (secret,)) as channel:
        row = execution(receiver.url)._replace(payload=orjson.dumps(base64.b64encode(_EVERY_BYTE).decode()))
        await channel.deliver(row, options, 5)
    [request] = receiver.requests
    signed = f"{request.headers['webhook-id']}.{NOW}.".encode() + request.body
    digest = base64.b64encode(hmac.digest(secret, signed, hashlib.sha256)).decode()
    assert request.headers["webhook-signature"] == f"v1,{digest}"


@pytest.mark.parametrize("payload", [b'{"a": 1}', b"null", b"5"])
async def test_a_payload_that_does_not_fit_the_body_format_fails_for_good(payload: bytes) -> None:
    options = Options(body=body_of({"format": "text"}))
    async with receiving() as receiver, calling() as channel:
        outcome = await channel.deliver(execution(receiver.url)._replace(payload=payload), options, 5)
    assert isinstance(outcome, Failed)
    assert not outcome.retryable
    assert "write a JSON string" in str(outcome.error)
    assert receiver.requests == []


async def test_no_body_is_sent_without_a_payload() -> None:
    options = Options(body=body_of({"format": "text"}))
    async with receiving() as receiver, calling() as channel:
        await channel.deliver(execution(receiver.url)._replace(payload=None), options, 5)
    [request] = receiver.requests
    assert request.body == b""
    assert "content-type" not in request.headers


async def test_a_media_type_with_a_line_break_is_not_sent() -> None:
    options = Options(body=body_of({"format": "text", "type": "a/b\r\nX: y"}))
    async with receiving() as receiver, calling() as channel:
        outcome = await channel.deliver(execution(receiver.url)._replace(payload=b'"x"'), options, 5)
    assert isinstance(outcome, Failed)
    assert receiver.requests == []
