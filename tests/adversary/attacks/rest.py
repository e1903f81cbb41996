"""REST requests that are malformed, endless, or ask for too much."""

import socket
from collections.abc import Iterator
from contextlib import suppress
from urllib.parse import urlsplit

import httpx

from tests.adversary.attack import Means, attack
from tests.adversary.attacks.rows import with_pulled_queue

_JSON = {"content-type": "application/json"}


@attack()
def invalid_bodies(means: Means) -> None:
    rest = means.rest()
    for body in (b"", b"{", b"[]", b"null", b"\xff\xfe", b'"x"', b"1e999999", b'{"target": 1}', b"[" * 100_000,
        b'{"a":' * 100_000,
                 b'{"client": "mallory", "target": "python:x\\u0000"}', b'{"client": "mal\\u0000", "target":'
                                                                        b' "python:x"}',
                 b'{"client": "mallory", "target": "python:mallory", "payload": "\\u0000"}',
                 b'{"client": "mallory", "target": "python:mallory", "payload": "\\ud800"}',
                 b'{"client": "mallory", "target": "python:mallory", "key": "\\udfff"}',
                 b'{"client": "mallory", "target": "python:mallory", "payload": ' + b"9" * 1_000_000 + b"}",
                 b" " * 3_000_000):  # fmt: skip
        with suppress(httpx.ReadError, httpx.WriteError):  # the server does not read oversized bodies to the end
            rest.post("/v1/jobs", content=body, headers=_JSON)


@attack()
def schedules_at_the_limits_of_their_types(means: Means) -> None:
    for schedule in (
        {"fire_at": "0001-01-01T00:00:00+14:00"}, {"fire_at": "9999-12-31T23:59:59-14:00"}, {"fire_at": "infinity"},
        {"fire_at": "10000-01-01T00:00:00Z"},
        {"delay": "P9999999999D"}, {"delay": "PT" + "9" * 400 + "S"}, {"delay": "PT0." + "0" * 5000 + "1S"},
        {"delay": "-PT1S"},
        {"every": "PT1S"}, {"every": "P3650D"}, {"every": "PT0.000001S"}, {"cron": "* " * 3000},
        {"cron": "*/" + "9" * 3000 + " * * * *"},
        {"cron": "0-59/1,0-59/1,0-59/1 * * * * *"}, {"cron": "@reboot"}, {"cron": "0 0 30 2 *"},
        {"cron": "\u0661 * * * *"},
        {"cron": "* * * * *", "timezone": "../../etc/passwd"}, {"cron": "* * * * *", "timezone": "\u0000"},
    ):  # fmt: skip
        means.post("/v1/jobs", client="mallory", target="python:mallory", schedule=schedule)
        means.post("/v1/preview", schedule=schedule, count=100)


@attack()
def previews_that_take_long(means: Means) -> None:
    rules = {"exclude": ["* * * * *"], "jitter": "24h"}

    def ask() -> None:
        for cron in ("0 0 29 2 1", "0 0 29 2 *", "59 59 23 31 12 6"):
            means.post("/v1/preview", schedule={"cron": cron, "timezone": "Europe/Berlin"}, count=100, rules=rules,
                       **{"from": "0001-01-02T00:00:00Z"})  # fmt: skip
        means.wait(0.05)

    means.keep(ask)


@attack(seconds=1.2)
def unread_answers_and_endless_requests(means: Means) -> None:
    parts = urlsplit(means.house.api)
    for number in range(60):
        connection = socket.create_connection((parts.hostname, parts.port))
        means.at_end(connection.close)
        if number % 2:
            connection.sendall(
                b"POST /v1/jobs HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length:"
                b" 2000000\r\n\r\n{"
            )
        else:
            connection.sendall(b"GET /v1/executions?limit=50 HTTP/1.1\r\nhost: x\r\n\r\n" * 2)


@attack(seconds=1.2)
def a_hundred_consumers_wait(means: Means) -> None:
    with_pulled_queue(means)
    parts = urlsplit(means.house.api)
    body = b'{"worker": "w", "wait": "PT60S"}'
    for _ in range(100):
        connection = socket.create_connection((parts.hostname, parts.port))
        means.at_end(connection.close)
        connection.sendall(b"POST /v1/queues/pulled/claim HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n"
                           b"content-length: %d\r\n\r\n%s" % (len(body), body))  # fmt: skip
    session = means.nobody()
    session.autocommit = True
    for payload in ("16@-99999999999999999999999", "²@²", "16@" + "9" * 5000, "stop x", "16@1,17@--5"):
        session.execute("select pg_notify('pgsched_wake', %s)", [payload])


@attack(seconds=1.2)
def listings_of_everything(means: Means) -> None:
    def read() -> None:
        rest = means.rest()
        for path in ("/v1/executions?limit=1000", "/v1/executions?client=mallory&status=succeeded",
                     "/v1/jobs?limit=1000", "/v1/dead-letters",
                     "/v1/executions?from=0001-01-01T00:00:00Z&to=9999-12-31T00:00:00Z", "/v1/executions?after=x",
                     "/v1/executions?limit=99999999999999999999", "/v1/executions?key=%00",
                     "/v1/jobs?label=a:b"):  # fmt: skip
            rest.get(path)
        means.wait(0.02)

    means.keep(read)


@attack(seconds=1.2)
def slowly_streamed_bodies(means: Means) -> None:
    def body() -> Iterator[bytes]:
        yield b'{"client": "mallory", "target": "python:mallory", "payload": "'
        for _ in range(30):
            means.wait(0.05)
            yield b"x" * 1000
        yield b'"}'

    def send() -> None:
        httpx.post(means.house.api + "/v1/jobs", content=body(), headers=_JSON, timeout=10)

    for _ in range(10):
        means.keep(send)


@attack(seconds=1.2)
def endless_jobs_and_keys(means: Means) -> None:
    def post() -> None:
        rest = means.rest()
        for number in range(20):
            rest.post("/v1/jobs", json={"client": "mallory", "target": "python:mallory", "key": f"k{number % 3}"})
        means.wait(0.1)

    means.keep(post)
    means.keep(post)


@attack(seconds=1.2)
def roles_of_operators_are_requested(means: Means) -> None:
    """SQL targets of a client run with the rights of its role, and a superuser can run commands of the operating
    system."""
    rest = means.rest()
    for role in (
        "postgres",
        "pgsched_worker",
        "pgsched_owner",
        "pg_execute_server_program",
        "pg_monitor",
        means.house.role("worker"),
    ):
        answer = rest.patch("/v1/clients/mallory2", json={"database_role": role})
        assert answer.status_code >= 400, f"database_role {role}: {answer.text}"


@attack(seconds=1.2)
def headers_of_every_kind(means: Means) -> None:
    for headers in ({"x": "y\r\nz: 1"}, {"Content-Length": "5"}, {"Host": "x"}, {"traceparent": "x"},
        {"webhook-id": "x"},
                    {"x" * 5000: "y"}, {"\u00e9": "y"}, {"x": "\u0000"}, {":path": "/"},
                    {"transfer-encoding": "chunked"},
                    {"Idempotency-Key": "x"}, {"connection": "upgrade"}, {"expect": "100-continue"}):  # fmt: skip
        means.post("/v1/jobs", client="mallory", target="http://127.0.0.1:9/", options={"headers": headers})
    means.post(
        "/v1/jobs", client="mallory", target="python:mallory", options={"backoff": {"initial": "1h", "maximum": "1s"}}
    )
