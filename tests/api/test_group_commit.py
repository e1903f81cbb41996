"""Group commit: simultaneous one-shots share a statement, and nothing else."""

import asyncio
import json
from typing import Any

import httpx
import psycopg

from pgsched.api.connection_pool import Database
from pgsched.api.group_commit import GroupCommit, leaves_nothing
from pgsched.domain.api_key import ANYBODY
from pgsched.errors import NotFound, Unavailable
from pgsched.store.schedule.schedule_parameters import request_of
from pgsched.telemetry import Events
from tests.api.access_arrange import make_key
from tests.conftest import Connection
from tests.store.store_arrange import value

TARGET = "https://shop.example/settle"


async def _post(api: httpx.AsyncClient, **body: Any) -> httpx.Response:
    return await api.post("/v1/jobs", json={"target": TARGET, "schedule": {"delay": "PT1H"}} | body)


async def test_simultaneous_requests_each_get_their_own_executions_id(api: httpx.AsyncClient, db: Connection) -> None:
    answers = await asyncio.gather(*[_post(api, key=f"k-{n}", payload={"n": n}) for n in range(40)])
    assert {answer.status_code for answer in answers} == {201}
    rows = db.execute("select key, id::text, payload ->> 'n' from pgsched.status order by id").fetchall()
    assert {key: (id, n) for key, id, n in rows} == {
        f"k-{n}": (answer.json()["id"], str(n)) for n, answer in enumerate(answers)
    }


async def test_a_statement_takes_waiting_requests_up_to_one_megabyte(database_url: str, db: Connection) -> None:
    database = Database(database_url, Events())
    await database.open()
    group_commit = GroupCommit()
    orders = [request_of(TARGET, {"payload": json.dumps("x" * 30_000), "key": f"k-{n}"}) for n in range(50)]
    placed = await asyncio.gather(*[group_commit.schedule(database.acting(ANYBODY), order) for order in orders])
    await database.close()
    assert len({one.id for one in placed}) == 50
    groups = db.execute("select count(*) from pgsched.executions group by xmin::text order by 1").fetchall()
    assert groups == [(16,), (34,)]  # one megabyte, and the rest


async def test_requests_that_repeat_a_key_in_a_group_replace_its_execution(
    api: httpx.AsyncClient, db: Connection
) -> None:
    answers = await asyncio.gather(*[_post(api, key="k", payload={"n": n}) for n in range(10)])
    assert sorted(answer.json()["outcome"] for answer in answers) == ["created", *["replaced"] * 9]
    assert len({answer.json()["id"] for answer in answers}) == 1
    assert db.execute("select count(*) from pgsched.executions").fetchone() == (1,)


async def test_a_refused_request_does_not_affect_the_rest_of_its_group(api: httpx.AsyncClient, db: Connection) -> None:
    some = [_post(api, queue="nowhere") if n % 10 == 5 else _post(api, key=f"k-{n}") for n in range(30)]
    answers = await asyncio.gather(*some)
    statuses = [answer.status_code for answer in answers]
    assert [n for n, status in enumerate(statuses) if status != 201] == [5, 15, 25]
    assert {answers[n].json()["code"] for n in (5, 15, 25)} == {NotFound.code}
    assert db.execute("select count(*) from pgsched.executions").fetchone() == (27,)


async def test_a_request_for_a_locked_key_does_not_block_other_requests(
    api: httpx.AsyncClient, db: Connection, database_url: str
) -> None:
    await _post(api, key="locked")
    with psycopg.connect(database_url) as other:
        other.execute("select from pgsched.executions for update")
        stuck = asyncio.create_task(_post(api, key="locked", payload={"n": 2}))
        answers = await asyncio.gather(*[_post(api, key=f"k-{n}") for n in range(20)])
        assert {answer.status_code for answer in answers} == {201}
        assert not stuck.done()
    assert (await stuck).json()["outcome"] == "replaced"
    assert db.execute("select count(*) from pgsched.executions").fetchone() == (21,)


async def test_requests_waiting_for_locks_leave_connections_for_other_clients(
    api: httpx.AsyncClient, db: Connection, database_url: str
) -> None:
    mine, others = (
        {"Authorization": f"Bearer {make_key(db, clients=[client], scopes=['schedule'])}"} for client in ("a", "b")
    )
    body = {"target": TARGET, "client": "a", "key": "locked", "schedule": {"delay": "PT1H"}}
    with psycopg.connect(database_url) as holder:
        holder.execute("select pgsched.schedule('notify:a', client => 'a', key => 'locked', delay => '1 hour')")
        stuck = [asyncio.create_task(api.post("/v1/jobs", json=body, headers=mine)) for _ in range(30)]
        waiting = (
            "select count(*) from pg_stat_activity where application_name = 'pgsched api' and wait_event_type = 'Lock'"
        )
        async with asyncio.timeout(10):
            while value(db, waiting) < 7:  # noqa: ASYNC110  the database has no event to wait on
                await asyncio.sleep(0.01)
        answers = await asyncio.gather(
            *[api.post("/v1/jobs", json=body | {"client": "b", "key": f"k-{n}"}, headers=others) for n in range(20)]
        )
        assert {answer.status_code for answer in answers} == {201}
        assert not any(task.done() for task in stuck)
    assert {(await task).status_code for task in stuck} == {200}  # replaced, one after another


async def test_simultaneous_jobs_dependents_and_large_payloads_are_scheduled(
    api: httpx.AsyncClient, db: Connection
) -> None:
    first = (await _post(api, key="first")).json()["id"]
    answers = await asyncio.gather(
        _post(api, key="later", after=[first]),
        _post(api, key="daily", schedule={"every": "PT1H"}),
        _post(api, key="large", payload="x" * 100_000),
        _post(api, key="plain"),
    )
    assert [answer.status_code for answer in answers] == [201] * 4
    assert [answer.json()["kind"] for answer in answers] == ["execution", "job", "execution", "execution"]
    assert db.execute("select count(*) from pgsched.dependencies").fetchone() == (1,)


def test_a_possibly_committed_statement_is_not_retried() -> None:
    refused, gone = NotFound("no such queue"), Unavailable("the connection is lost")
    refused.__cause__, gone.__cause__ = psycopg.errors.RaiseException(), psycopg.OperationalError()
    assert leaves_nothing(refused) is True
    assert leaves_nothing(psycopg.errors.LockNotAvailable()) is True
    assert leaves_nothing(gone) is False  # without an SQLSTATE, the outcome is unknown
    assert leaves_nothing(psycopg.errors.AdminShutdown()) is False
