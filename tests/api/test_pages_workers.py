"""The pages of workers: what each can deliver, what is in flight, and drain and resume."""

import re

import httpx
import psycopg

from tests.api.access_arrange import things_of_shop
from tests.conftest import Connection
from tests.store.store_arrange import call, column, schedule


async def test_a_worker_can_be_drained_and_resumed_on_its_page(page: httpx.AsyncClient, db: Connection) -> None:
    call(db, "create_queue", name="orders")
    [worker] = things_of_shop(db)["worker"]
    db.execute("update pgsched.workers set delivers = '{python:settle}'")
    id = schedule(db, client="shop", key="in-hand", fire_at="2020-01-01T00:00:00Z")
    db.execute(
        "update pgsched.executions set lease_owner = %s, lease_token = 1, lease_expires_at = now() where id = %s",
        [worker, id],
    )
    listed = (await page.get("/workers")).text
    assert f'href="/workers/{worker}"' in listed
    shown = (await page.get(f"/workers/{worker}")).text
    for text in ("python:settle", "in-hand", f"/executions/{id}", "In hand: 1"):
        assert text in shown
    did = await page.post(f"/workers/{worker}/drain", data={"note": "new machine"})
    drained = (await page.get(did.headers["location"])).text
    for text in ("Draining:", 'class="status draining"', "new machine", "finishing the executions in hand"):
        assert text in drained
    did = await page.post(f"/workers/{worker}/resume")
    assert "Resumed." in (await page.get(did.headers["location"])).text
    done = column(db, "select action from pgsched.audit_log where authenticated ~ 'ann' order by id")
    assert done == ["pause", "resume"]
    for gone in (await page.get("/workers/99"), await page.post("/workers/99/drain")):
        assert (gone.status_code, "other workers took over" in gone.text) == (404, True)


async def test_former_workers_are_listed_as_lost_or_stopped(page: httpx.AsyncClient, db: Connection) -> None:
    db.execute(
        "insert into pgsched.workers (name, queues, release, expires_at, lost_since) values"
        " ('gone:1', '{default}', '1', now(), null), ('gone:2', '{default}', '1', now(), '2026-01-02 03:04:05Z')"
    )
    assert "left in the last" not in (await page.get("/workers")).text
    db.execute("delete from pgsched.workers")
    listed = (await page.get("/workers")).text
    [former] = re.findall(r'aria-label="Workers that have left".*?</table>', listed, re.DOTALL)
    assert re.findall(r'class="status (\w+)"', former) == ["lost", "stopped"]
    [lost, stopped] = re.findall(r'href="(/workers/\d+)"', former)
    assert "since 2026-01-02 03:04:05" in (await page.get(lost)).text
    found = await page.get(stopped)
    assert (found.status_code, "gone:1" in found.text, "gone:2" in found.text) == (404, True, False)


async def test_the_now_page_names_the_last_worker_lost_in_the_past_hour(
    page: httpx.AsyncClient, db: Connection
) -> None:
    for name, lost in (("gone:1", "2 hours"), ("gone:2", "3 minutes"), ("gone:3", "2 minutes"), ("gone:4", None)):
        db.execute(
            "insert into pgsched.workers (name, queues, release, expires_at, lost_since)"
            " values (%s, '{default,orders}', '1', now(), now() - %s::interval)",
            [name, lost],
        )
        db.execute("delete from pgsched.workers")
    found = (await page.get("/now")).text
    [said] = re.findall(r'<p class="finding warning">(.*)</p>', found)
    assert re.search(r'<a id="lost" href="/workers">Worker \d+</a> \(gone:3\) was lost at .*', said)
    assert "It served default, orders" in said
    assert "2 workers were lost in the last hour." in said


async def test_the_now_page_links_an_unserved_queue_to_the_workers_page(
    page: httpx.AsyncClient, db: Connection
) -> None:
    call(db, "create_queue", name="orders")
    call(db, "pause", kind="queue", name="orders")
    found = (await page.get("/now")).text
    for why, link in (("no worker serves the queue", "/workers"), ("the queue is paused", "/queues")):
        assert re.search(f'<a href="{link}">{why}</a>', found)


def test_only_the_last_thousand_former_workers_are_kept(db: Connection) -> None:
    db.execute(
        "insert into pgsched.workers (name, queues, release, expires_at)"
        " select 'gone:' || n, '{default}', '1', now() from generate_series(1, 1100) n"
    )
    db.execute("delete from pgsched.workers")
    kept = "select count(*), max(substr(name, 6)::int) - min(substr(name, 6)::int) from pgsched_internal.former_workers"
    assert db.execute(kept.encode()).fetchone() == (1000, 999)


async def test_the_workers_page_lists_each_queues_workers(page: httpx.AsyncClient, db: Connection) -> None:
    call(db, "create_queue", name="orders")
    call(db, "create_queue", name="taken", changes={"pulled": True})
    db.execute(
        "insert into pgsched.workers (name, queues, release, expires_at, delivers, concurrency) values"
        " ('here:1', '{default}', '1', now() + interval '1 h', '{sql:}', 1200),"
        " ('here:2', '{orders}', '1', now() - interval '1 h', '{python:a,python:b}', 1300)"
    )
    shown = (await page.get("/workers")).text
    of_queue = dict(re.findall(r'queue=\w+">(\w+)</a></th>\s*<td class="long">(.*)</td>', shown))
    assert re.findall(r">(\d+)</a>", of_queue["default"]) == column(
        db, "select id::text from pgsched.workers where name = 'here:1'"
    )
    assert '<span class="status failed">none</span>' in of_queue["orders"]
    assert "consumers claim from it" in of_queue["taken"]
    handlers = re.findall(r'<td class="number">(none|2)</td>', shown)
    assert handlers == ["none", "2"]
    assert re.findall(r'<td class="number">(1,\d+)</td>', shown) == ["1,200", "1,300"]


async def test_a_worker_can_be_drained_and_resumed_over_rest(api: httpx.AsyncClient, db: Connection) -> None:
    call(db, "create_queue", name="orders")
    db.execute(
        "insert into pgsched.workers (name, queues, release, expires_at)"
        " values ('here:1', '{default}', '1', now() + interval '1 h')"
    )
    [one] = (await api.get("/v1/workers")).json()["items"]
    assert (one["state"], one["in_hand"], one["concurrency"], one["name"]) == ("active", 0, 1, "here:1")
    path = f"/v1/workers/{one['id']}"
    drained = [(await api.post(f"{path}/pause", json={"note": "why"})).json() for _ in range(2)]
    assert drained == [{"id": one["id"], "changed": True}, {"id": one["id"], "changed": False}]
    found = (await api.get(path)).json()
    assert (found["state"], found["reason"]) == ("draining", "why")
    assert (await api.post(f"{path}/resume")).json() == {"id": one["id"], "changed": True}
    assert (await api.post("/v1/workers/99/pause")).status_code == 404


async def test_the_database_page_shows_tables_and_vacuum_blockers(
    page: httpx.AsyncClient, db: Connection, database_url: str
) -> None:
    schedule(db, client="shop")
    db.execute("vacuum analyze pgsched.executions")
    with psycopg.connect(database_url, application_name="a long report") as report:
        report.execute("set transaction isolation level repeatable read")
        report.execute("select 1 from pgsched.executions")
        found = (await page.get("/database")).text
    for text in ("a long report", '<th scope="row">executions</th>', "Partitions exist for", "KiB"):
        assert text in found, text
