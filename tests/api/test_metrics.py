"""The API's metrics: its requests, and the whole database."""

import asyncio
from typing import Any

import httpx
import pytest

from pgsched.api import doctor, metrics
from pgsched.api.app import create_app
from pgsched.api.connection_pool import Database
from pgsched.api.metrics import Metrics
from pgsched.api.middleware import RequestCounts
from pgsched.domain.api_key import EVERYBODY
from pgsched.metrics import catalogue
from pgsched.metrics.database import measured
from pgsched.settings import Settings
from pgsched.store.doctor.examination import examine
from pgsched.store.doctor.finding import Report
from pgsched.telemetry import Events
from tests.api.access_arrange import make_key
from tests.api.serving import serving
from tests.conftest import Connection
from tests.metrics.test_counting import read
from tests.processes import Process
from tests.programs.prometheus import check_page
from tests.store.doctor.doctor_arrange import register
from tests.store.ends.dead_letter_arrange import dead_letter

pytestmark = [pytest.mark.smoke]

FAILED = """
insert into pgsched.rollups (minute, client_id, queue, failed)
select pgsched.now() - age, client, 'default', count
  from (values ('1 min'::interval, '', 3), ('1 min', 'shop', 3), ('20 min', '', 5)) as r(age, client, count)"""


def test_metrics_cover_the_database_and_http_requests(db: Connection, served: tuple[str, Process]) -> None:
    db.execute("select pgsched.create_queue('idle'), pgsched.pause('queue', 'idle')")
    db.execute("select pgsched.schedule('python:note', fire_at => now() - interval '2 minutes')")
    db.execute("""select pgsched.pause('client', 'shop'), pgsched.set_client('shop', '{"late_after": "1s"}')""")
    db.execute("select pgsched.schedule('python:note', client => 'shop')")
    dead_letter(db)
    db.execute(FAILED)
    with httpx.Client(base_url=served[0]) as client:
        for path in ("/v1/jobs", "/v1/jobs", "/nothing/here"):
            client.get(path)
        answer = client.get("/metrics")
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    check_page(answer.content)
    found = read(answer.content)
    assert found["pgsched_database_up", ()] == 1
    assert found["pgsched_due", ("default",)] == 2
    assert 119 < found["pgsched_oldest_due_seconds", ("default",)] < 240
    assert found["pgsched_due", ("idle",)] == found["pgsched_oldest_due_seconds", ("idle",)] == 0
    assert (found["pgsched_queue_paused", ("idle",)], found["pgsched_queue_paused", ("default",)]) == (1, 0)
    assert found["pgsched_queue_workers", ("idle",)] == found["pgsched_workers", ()] == 0
    assert (found["pgsched_dead_letters", ()], found["pgsched_new_dead_letters", ()]) == (1, 3)
    assert found["pgsched_objective_on_time_share", ("shop",)] == 0.99
    assert found["pgsched_objective_attempts_total", ("shop",)] == 0
    assert found["pgsched_objective_late_attempts_total", ("shop",)] == 0
    assert found["pgsched_dead_rows", ("executions",)] >= 0
    assert found["pgsched_wal_bytes_total", ()] > 0
    assert found["pgsched_finding", ("queues",)] == 2
    assert found["pgsched_finding", ("drift",)] == 0
    assert found["pgsched_api_requests_total", ("200", "/v1/jobs", "GET")] == 2
    assert found["pgsched_api_requests_total", ("404", "none", "GET")] == 1
    assert found["pgsched_api_request_duration_seconds_count", ("/v1/jobs",)] == 2
    counted = {name for name in catalogue.OF_THE_DATABASE if catalogue.OF_THE_DATABASE[name].kind == "gauge"}
    assert counted - {name for name, _ in found} <= {"pgsched_held"}


async def test_workers_are_counted_in_total_and_per_queue(database_url: str) -> None:
    await register(database_url)
    async with serving(create_app(Settings(database_url=database_url))) as api:
        found = read((await api.get("/metrics")).content)
    assert found["pgsched_workers", ()] == found["pgsched_queue_workers", ("default",)] == 1


async def test_metrics_report_an_unreachable_database() -> None:
    url = "postgresql://nobody@127.0.0.1:1/nothing"
    database = Database(url, Events(), wait=0.1)
    await database.open()
    try:
        found = await Metrics(database, doctor.doctor(database, url, None), RequestCounts()).page(EVERYBODY)
    finally:
        await database.close()
    assert read(found) == {("pgsched_database_up", ()): 0}


async def test_repeated_scrapes_share_one_measurement(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    async def counted(connection: Any, found: Any) -> None:
        asked.append(1)
        await measured(connection, found)

    monkeypatch.setattr(metrics, "measured", counted)
    async with serving(create_app(Settings(database_url=database_url))) as api:
        for _ in range(3):
            assert (await api.get("/metrics")).status_code == 200
    assert len(asked) == 1


async def test_a_scrape_does_not_wait_for_a_running_doctor_check(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = []

    async def once(*given: Any, **named: Any) -> Report:
        made.append(1)
        if len(made) > 1:
            await asyncio.Event().wait()
        return await examine(*given, **named)

    monkeypatch.setattr(doctor, "examine", once)
    monkeypatch.setattr(metrics, "_KEPT", 0.0)
    monkeypatch.setattr(metrics, "_FINDINGS_KEPT", 0.0)
    async with serving(create_app(Settings(database_url=database_url))) as api:
        found = [read((await api.get("/metrics")).content) for _ in range(3)]
    of_doctor = [{key: value for key, value in page.items() if key[0] == "pgsched_finding"} for page in found]
    assert (len(made), of_doctor[0], of_doctor[1]) == (2, of_doctor[1], of_doctor[2])
    assert of_doctor[0]["pgsched_finding", ("drift",)] == 0


async def test_metrics_need_the_read_scope_for_all_clients(database_url: str, db: Connection) -> None:
    some, scheduling = make_key(db, clients=["shop"]), make_key(db, scopes=["schedule"])
    async with serving(create_app(Settings(database_url=database_url))) as api:
        for key, status in ((some, 403), (scheduling, 403), (make_key(db, scopes=["read"]), 200)):
            assert (await api.get("/metrics", headers={"Authorization": f"Bearer {key}"})).status_code == status
