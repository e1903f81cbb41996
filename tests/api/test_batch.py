"""POST /v1/jobs/batch: NDJSON lines, scheduled all or nothing, or line by line."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterable
from dataclasses import replace
from typing import Any
from uuid import UUID

import httpx
import psycopg
import pytest

from pgsched.api import authentication, batch_lines
from pgsched.api.connection_pool import Database
from pgsched.domain.api_key import Grant
from pgsched.errors import Unavailable
from pgsched.telemetry import Events
from tests.api.access_arrange import make_key

Db = psycopg.Connection[tuple[Any, ...]]
AT = "2040-03-01T09:00:00Z"
TYPE = {"Content-Type": "application/x-ndjson"}
KINDS: list[dict[str, Any]] = [
    {"target": "notify:a", "schedule": {"fire_at": AT}, "payload": {"n": 1.50}},
    {"target": "notify:b", "schedule": {"fire_at": AT}, "key": "k", "client": "shop", "options": {"timeout": "5s"}},
    {"target": "notify:c", "schedule": {"fire_at": AT}, "ordering_key": "o"},
    {"target": "python:report", "schedule": {"cron": "30 2 * * *", "timezone": "Europe/Berlin"}, "key": "report"},
    {"target": "notify:d", "schedule": {"fire_at": AT}, "key": "k", "client": "shop", "on_conflict": "keep"},
    {"target": "notify:e", "after": ["k"], "client": "shop", "key": "last"},
    {"target": "notify:f", "schedule": {"fire_at": AT}, "labels": {"team": "mail"}},
    {
        "target": "https://shop.example",
        "schedule": {"fire_at": AT},
        "payload": "a",
        "options": {"body": {"format": "text"}},
    },
]
BAD: list[Any] = [
    "no JSON",
    [],
    {},
    {"target": "notify:a", "paylod": 1},
    {"target": "notify:a", "schedule": {"fire_at": "tomorrow"}},
    {"target": "notify:a", "schedule": {"fire_at": None}},
    {"target": "notify:a", "schedule": {"fire_at": AT, "delay": "1h"}},
    {"target": "notify:a", "schedule": {"fire_at": AT, "timezone": "UTC"}},
    {"target": "notify:a", "schedule": {"delay": "soon"}},
    {"target": "notify:a", "rules": {"max_runs": 1}},
    {"target": "ftp://shop.example"},
    {"target": "notify:\x00"},
    {"target": "notify:a", "client": "c" * 101},
    {"target": "notify:a", "queue": "nowhere"},
    {"target": "notify:a", "options": {"retries": 3}},
    {"target": "notify:a", "payload": "a\x00"},
    {"target": "notify:a", "after": ["nothing"]},
    {"target": "notify:a", "on_conflict": "keep"},
    {"target": "notify:a", "key": "taken", "on_conflict": "reject"},
    {"target": "queue:"},
    {"target": "notify:a", "labels": {"team": 5}},
    {"target": "notify:a", "labels": {"": "mail"}},
    {"target": "https://shop.example", "payload": {}, "options": {"body": {"format": "text"}}},
    {"target": "https://shop.example", "payload": "a", "key": "k2", "options": {"body": {"format": "base64"}}},
    {"target": "https://shop.example", "payload": "a", "ordering_key": "o", "options": {"body": {"format": "form"}}},
]


def ndjson(bodies: Iterable[Any]) -> bytes:
    return b"".join(body if isinstance(body, bytes) else json.dumps(body).encode() + b"\n" for body in bodies)


def plain(count: int) -> list[Any]:
    return [{"target": "notify:a", "schedule": {"fire_at": AT}, "payload": n} for n in range(count)]


async def send(api: httpx.AsyncClient, body: Any, mode: str = "all") -> httpx.Response:
    return await api.post("/v1/jobs/batch", params={"mode": mode}, content=body, headers=TYPE)


def results(answer: httpx.Response) -> list[dict[str, Any]]:
    assert answer.status_code == 200, answer.text
    assert answer.headers["Content-Type"] == "application/x-ndjson"
    return [json.loads(line) for line in answer.text.splitlines()]


def count(db: Db) -> int:
    found = db.execute("select count(*) from pgsched.status").fetchone()
    assert found is not None
    return int(found[0])


async def test_a_batch_schedules_every_line_and_returns_every_id(api: httpx.AsyncClient, db: Db) -> None:
    found = results(await send(api, ndjson(plain(9_000))))
    assert [result["line"] for result in found] == [*range(1, 9_001)]
    assert {(result["kind"], result["outcome"]) for result in found} == {("execution", "created")}
    payloads: dict[Any, Any] = dict(db.execute("select id, payload from pgsched.executions").fetchall())
    assert [payloads[UUID(result["id"])] for result in found] == [*range(9_000)]


@pytest.mark.parametrize("mode", ["all", "each"])
async def test_a_batch_line_creates_the_same_row_as_a_single_request(api: httpx.AsyncClient, db: Db, mode: str) -> None:
    rows = (
        "select kind, client_id, key, target, payload, options, nullif(fire_at, 'infinity'), ordering_key, queue, cron,"
        " labels from"
        " (select 'execution' as kind, client_id, key, target, payload, options, fire_at, ordering_key,"
        "  partition >> 4 as queue, null as cron, labels from pgsched.executions where job_id is null"
        "  union all select 'job', client_id, key, target, payload, options, null, ordering_key, null, cron, labels"
        "  from pgsched.jobs) rows order by target"
    )
    one_by_one = [(await api.post("/v1/jobs", json=body)).json() for body in KINDS]
    kept = db.execute(rows).fetchall()
    db.execute("truncate pgsched.executions, pgsched.jobs, pgsched_internal.keys cascade")
    found = results(await send(api, ndjson(KINDS), mode))
    assert db.execute(rows).fetchall() == kept
    words = [(result["kind"], result["outcome"]) for result in one_by_one]
    assert [(result["kind"], result["outcome"]) for result in found] == words
    assert found[1]["id"] == found[4]["id"]


async def test_a_batch_line_gets_the_same_error_as_a_single_request(api: httpx.AsyncClient, db: Db) -> None:
    await api.post("/v1/jobs", json={"target": "notify:a", "key": "taken", "schedule": {"fire_at": AT}})
    headers = {"Content-Type": "application/json"}
    alone = [(await api.post("/v1/jobs", content=json.dumps(body), headers=headers)).json() for body in BAD]
    found = results(await send(api, ndjson([*BAD, KINDS[0]]), "each"))
    shown = ("status", "code", "detail", "errors")
    for one, result in zip(alone, found, strict=False):
        assert [one.get(name) for name in shown] == [result["problem"].get(name) for name in shown]
    assert found[-1]["outcome"] == "created"
    assert count(db) == 2


@pytest.mark.parametrize(
    "bad", [BAD[4], BAD[10], BAD[13]], ids=["refused by the API", "refused by COPY", "refused by a function"]
)
async def test_the_first_invalid_line_is_named_and_nothing_is_scheduled(
    api: httpx.AsyncClient, db: Db, bad: Any
) -> None:
    alone = (await api.post("/v1/jobs", json=bad)).json()
    answer = await send(api, ndjson([*plain(4_500), bad, {}, *plain(10)]))
    told = answer.json()
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert answer.status_code == alone["status"]
    assert told["code"] == alone["code"]
    assert told["detail"] == f"line 4501: {alone['detail']}; nothing in the batch was scheduled"
    assert [fault["line"] for fault in told["errors"]] == [4501]
    assert count(db) == 0


async def test_mode_each_schedules_valid_lines_and_reports_invalid_lines(api: httpx.AsyncClient, db: Db) -> None:
    bodies: list[Any] = plain(300)
    bodies[7], bodies[9], bodies[200] = {"target": "ftp://a"}, "no body", {"target": "ftp://b"}
    found = results(await send(api, ndjson(bodies), "each"))
    assert [result["line"] for result in found] == [*range(1, 301)]
    assert [result["line"] for result in found if "problem" in result] == [8, 10, 201]
    assert count(db) == 297


async def test_a_batch_sent_byte_by_byte_is_scheduled(api: httpx.AsyncClient, db: Db) -> None:
    body = ndjson([KINDS[0], b"\r\n", b"  \n", {**KINDS[2], "payload": "ü"}]).rstrip(b"\n")

    async def pieces() -> AsyncIterator[bytes]:
        for n in range(len(body)):
            yield body[n : n + 1]

    assert [result["line"] for result in results(await send(api, pieces()))] == [1, 4]
    assert count(db) == 2


async def test_an_empty_batch_has_no_results(api: httpx.AsyncClient) -> None:
    assert results(await send(api, b"\n")) == []


async def test_a_batch_line_over_the_size_limit_is_refused(api: httpx.AsyncClient, db: Db) -> None:
    def bodies() -> bytes:
        return ndjson([KINDS[0], b"x" * (batch_lines.LONGEST_LINE * 2) + b"\n", KINDS[2]])

    found = results(await send(api, bodies(), "each"))
    assert [result.get("problem", {}).get("status") for result in found] == [None, 413, None]
    answer = await send(api, bodies())
    assert (answer.status_code, answer.json()["errors"][0]["line"]) == (413, 2)
    assert count(db) == 2


async def test_a_batch_over_the_line_limit_is_refused(
    api: httpx.AsyncClient, db: Db, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch_lines, "MOST_LINES", 5)
    answer = await send(api, ndjson(plain(6)))
    assert (answer.status_code, answer.json()["errors"][0]["line"]) == (413, 6)
    assert count(db) == 0


async def test_results_end_at_the_first_line_over_the_line_limit(
    api: httpx.AsyncClient, db: Db, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch_lines, "MOST_LINES", 5)

    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(20):
            yield ndjson(plain(1))

    for body in (ndjson(plain(50)), pieces()):
        found = results(await send(api, body, "each"))
        assert [(result["line"], result.get("problem", {}).get("status")) for result in found] == [
            (1, None), (2, None), (3, None), (4, None), (5, None), (6, 413)]  # fmt: skip
        assert "this line and the following" in found[-1]["problem"]["detail"]
    assert count(db) == 10


async def test_a_batch_needs_the_ndjson_media_type_and_a_known_mode(api: httpx.AsyncClient) -> None:
    answer = await api.post("/v1/jobs/batch", json=KINDS[0])
    assert answer.status_code == 415
    assert "application/x-ndjson" in answer.json()["detail"]
    assert (await send(api, b"", "some")).status_code == 400


async def test_an_interrupted_batch_schedules_nothing(api: httpx.AsyncClient, db: Db) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        yield ndjson(plain(5_000))
        raise ConnectionError

    assert (await send(api, pieces())).status_code == 500
    assert count(db) == 0


async def test_a_clients_batches_leave_connections_for_other_requests(database_url: str) -> None:
    one, other = (
        Grant(subject=name, clients=frozenset({name}), scopes=frozenset({"schedule"})) for name in ("one", "other")
    )
    database = Database(database_url, Events())
    await database.open()
    try:
        mine, others = database.acting(one), database.acting(other)
        async with mine.batch(), mine.batch():
            for whose in (mine, database.acting(replace(one, subject="another key"))):
                whose._wait = 0.1
                with pytest.raises(Unavailable, match="no connection to the database was available"):
                    async with whose.batch():
                        pass
            mine._wait = others._wait
            async with others.batch(), asyncio.timeout(10), mine.connection() as connection:
                await connection.execute("select 1")
    finally:
        await database.close()


@pytest.mark.parametrize("mode", ["all", "each"])
async def test_a_batch_whose_api_key_is_revoked_midway_schedules_nothing(
    api: httpx.AsyncClient, db: Db, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(authentication, "_KEPT_FOR", 0.0)
    key = make_key(db)
    api.headers["Authorization"] = f"Bearer {key}"

    async def pieces() -> AsyncIterator[bytes]:
        yield ndjson(plain(10))
        db.execute("select pgsched_internal.revoke_key(%s)", [key.id])

    answer = await send(api, pieces(), mode)
    assert "is revoked" in answer.text
    assert (count(db), answer.status_code) == (0, 401 if mode == "all" else 200)
