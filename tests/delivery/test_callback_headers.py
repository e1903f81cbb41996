import re
from datetime import UTC, datetime
from typing import Any

import orjson
import pytest
from standardwebhooks import Webhook

from pgsched.domain.execution import uuid_text
from pgsched.domain.execution_options import Options, parse_options
from pgsched.domain.secret import parse_signing_secret
from pgsched.version import __version__
from tests.delivery.receiver import ID, NOW, calling, deliver, execution, receiving

UUID = "0198c0de-0000-7000-8000-000000000001"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("content-type", "application/json"),
        ("idempotency-key", UUID),
        ("webhook-id", UUID),
        ("webhook-timestamp", str(NOW)),
        ("pgsched-client", "shop"),
        ("pgsched-attempt", "1"),
        ("pgsched-scheduled-for", "2026-09-21T14:13:20Z"),
        ("pgsched-deadline", "2026-09-21T14:13:25Z"),
        ("accept-encoding", "identity"),
        ("user-agent", f"pgsched/{__version__}"),
    ],
)
async def test_a_callback_has_the_documented_headers(name: str, value: str) -> None:
    async with receiving() as receiver:
        await deliver(receiver.url)
    assert receiver.requests[0].headers[name] == value


async def test_the_delivery_count_includes_uncounted_attempts() -> None:
    async with receiving() as receiver, calling() as channel:
        for uncounted in (None, 2):
            await channel.deliver(execution(receiver.url, attempt=3)._replace(uncounted=uncounted), Options(), 5)
    assert [one.headers["pgsched-delivery-count"] for one in receiver.requests] == ["3", "5"]


async def test_a_callback_has_only_the_expected_standard_headers() -> None:
    async with receiving() as receiver:
        await deliver(receiver.url)
    names = {name for name in receiver.requests[0].headers if not name.startswith(("webhook-", "pgsched-"))}
    assert names == {
        "host", "content-length", "content-type", "idempotency-key", "accept-encoding", "user-agent",
        "traceparent",
    }  # fmt: skip


async def test_odd_characters_in_client_and_key_headers_are_percent_encoded() -> None:
    named: dict[str, Any] = {"client_id": "Café\r\nx: 1", "key": "order/42 100%", "job_id": ID}
    async with receiving() as receiver, calling() as channel:
        await channel.deliver(execution(receiver.url), Options(), 5)
        await channel.deliver(execution(receiver.url)._replace(**named), Options(), 5)
    plain, told = (request.headers for request in receiver.requests)
    assert not {"pgsched-key", "pgsched-job"} & plain.keys()
    assert told["pgsched-client"] == "Caf%C3%A9%0D%0Ax:%201"
    assert (told["pgsched-key"], told["pgsched-job"]) == ("order/42%20100%25", UUID)


async def test_headers_from_the_options_are_sent() -> None:
    async with receiving() as receiver:
        await deliver(receiver.url, Options(headers=(("Authorization", "Bearer x"), ("X-Shop", "42"))))
    headers = receiver.requests[0].headers
    assert (headers["authorization"], headers["x-shop"]) == ("Bearer x", "42")


async def test_attempts_share_a_trace_but_have_different_spans() -> None:
    async with receiving() as receiver, calling() as channel:
        for attempt in (1, 2):
            await channel.deliver(execution(receiver.url, attempt=attempt), Options(), 5)
    first, second = (request.headers["traceparent"] for request in receiver.requests)
    assert re.fullmatch(f"00-{ID.hex()}-[0-9a-f]{{16}}-00", first)
    assert first[:36] == second[:36]
    assert first != second
    assert receiver.requests[1].headers["pgsched-attempt"] == "2"


async def test_a_cloud_event_is_sent_as_headers_without_duplicates() -> None:
    event = {"type": "com.example.paid", "source": "/shop?a=1#b"}
    raw = {"cloudevent": event, "headers": {"CE-Id": "mine", "ce-partitionkey": "p"}}
    async with receiving() as receiver, calling() as channel:
        row = execution(receiver.url)._replace(key="Café 100%")
        await channel.deliver(row, parse_options(orjson.dumps(raw)), 5)
    [request] = receiver.requests
    found = {name: text for name, text in request.headers.items() if name.startswith("ce-")}
    assert found == {
        "ce-specversion": "1.0", "ce-id": UUID, "ce-source": event["source"], "ce-type": event["type"],
        "ce-time": "2026-09-21T14:13:20Z", "ce-subject": "Caf%C3%A9%20100%25", "ce-partitionkey": "p",
    }  # fmt: skip
    assert request.headers["content-type"] == "application/json"
    assert orjson.loads(request.body) == {"order": 42}


async def test_every_attempt_sends_the_callers_trace_unchanged() -> None:
    trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    async with receiving() as receiver, calling() as channel:
        for attempt in (1, 2):
            await channel.deliver(execution(receiver.url, attempt=attempt), Options(traceparent=trace), 5)
    assert [request.headers["traceparent"] for request in receiver.requests] == [trace, trace]


async def test_callbacks_of_a_client_with_a_secret_are_signed(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    secrets = {"shop": [parse_signing_secret(text)]}
    async with receiving() as receiver, calling(secrets=lambda client: secrets.get(client, [])) as channel:
        await channel.deliver(execution(receiver.url), Options(), 5)
    [request] = receiver.requests
    names = ("webhook-id", "webhook-timestamp", "webhook-signature")
    headers = {name: request.headers[name] for name in names}
    monkeypatch.setattr("standardwebhooks.webhooks.Webhook._Webhook__verify_timestamp", _any_time)
    assert Webhook(text).verify(request.body, headers) == {"order": 42}


async def test_callbacks_of_a_client_without_a_secret_are_not_signed() -> None:
    async with receiving() as receiver:
        await deliver(receiver.url)
    assert "webhook-signature" not in receiver.requests[0].headers


async def test_one_rows_headers_do_not_leak_into_the_next_rows_callback() -> None:
    secrets = {"shop": [b"s" * 32]}
    async with receiving() as receiver, calling(secrets=lambda client: secrets.get(client, [])) as channel:
        await channel.deliver(execution(receiver.url), Options(), 5)
        await channel.deliver(execution(receiver.url, id=bytes(15) + b"\2", client_id="bank"), Options(), 5)
    signed, plain = (request.headers for request in receiver.requests)
    assert "webhook-signature" in signed
    assert "webhook-signature" not in plain
    assert plain["webhook-id"] == uuid_text(bytes(15) + b"\2")


def _any_time(self: Webhook, text: str) -> datetime:
    return datetime.fromtimestamp(int(text), UTC)
