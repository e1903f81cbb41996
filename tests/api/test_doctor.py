"""The doctor over REST: simultaneous requests share one examination."""

import asyncio
from typing import Any

import pytest

from pgsched.api import doctor
from pgsched.api.app import create_app
from pgsched.api.connection_pool import Database
from pgsched.domain.api_key import EVERYBODY
from pgsched.settings import Settings
from pgsched.store.doctor.examination import CHECKS, examine
from pgsched.store.doctor.finding import Report
from pgsched.telemetry import Events
from tests.api.serving import serving
from tests.conftest import Connection
from tests.store.doctor.doctor_arrange import register

pytestmark = [pytest.mark.smoke]


async def test_simultaneous_requests_share_one_run_of_all_checks(
    db: Connection, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await register(database_url)
    db.execute("select pgsched.schedule('python:note', fire_at => now() - interval '2 minutes')")
    made = []

    async def counted(*given: Any, **named: Any) -> Report:
        made.append(1)
        return await examine(*given, **named)

    monkeypatch.setattr(doctor, "examine", counted)
    async with serving(create_app(Settings(database_url=database_url))) as api:
        answers = await asyncio.gather(*(api.get("/v1/doctor") for _ in range(3)))
    assert [answer.status_code for answer in answers] == [200] * 3
    assert len(made) == 1
    report = answers[0].json()
    assert report["checks"] == list(CHECKS)
    assert [one for one in report["findings"] if "could not be checked" in one["seen"]] == []
    late = [one for one in report["findings"] if one["check"] == "late"]
    assert [one["severity"] for one in late] == ["warning"]


async def test_an_unreachable_database_is_reported_as_a_finding() -> None:
    url = "postgresql://nobody@127.0.0.1:1/nothing"
    database = Database(url, Events(), wait=0.1)
    await database.open()
    try:
        report = await doctor.doctor(database, url, None).get(EVERYBODY)
    finally:
        await database.close()
    assert (report.status, [one.check for one in report.findings]) == ("error", ["database"])


def test_the_doctor_works_again_after_an_application_restart(database_url: str) -> None:
    app = create_app(Settings(database_url=database_url))

    async def asked() -> int:
        async with serving(app) as api:
            return (await api.get("/v1/doctor")).status_code

    assert [asyncio.run(asked()) for _ in range(2)] == [200, 200]
