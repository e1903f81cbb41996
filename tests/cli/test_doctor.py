"""``pgsched doctor``: its output, and its exit status for monitors."""

import asyncio
import json

import pytest

from tests.cli.conftest import Run
from tests.conftest import Connection, at
from tests.databases import login_as
from tests.store.doctor.doctor_arrange import make_days, register, session_of_the_worker


async def test_the_exit_status_is_0_if_there_are_no_findings(db: Connection, database_url: str, run: Run) -> None:
    await make_days(database_url)
    with login_as(db, database_url, "pgsched_worker") as url:
        await register(url)
        with session_of_the_worker(url):
            result = await asyncio.to_thread(run, "doctor", "--json", env=at(url))
    report = json.loads(result.stdout)
    assert (report["status"], result.exit_code) == ("fine", 0), report


def test_findings_set_the_exit_status_and_are_printed_with_advice(db: Connection, database_url: str, run: Run) -> None:
    warned = run("doctor", env=at(database_url))
    assert warned.exit_code == 1
    assert "warning: days: history has partitions for 0 days" in warned.stdout
    db.execute("select pgsched.schedule('python:note', fire_at => now() - interval '1 hour')")
    failed = run("doctor", env=at(database_url))
    assert failed.exit_code == 2
    assert "error: queues: no running worker serves the queue default" in failed.stdout
    assert "Do: Start a worker with pgsched worker --queues default." in failed.stdout
    assert failed.stdout.splitlines()[-1].startswith("pgsched ")


@pytest.mark.parametrize("flags", [(), ("--json",)])
def test_an_unreachable_database_is_reported_as_a_finding(run: Run, flags: tuple[str, ...]) -> None:
    result = run("doctor", *flags, env=at("postgresql://nobody@127.0.0.1:1/nothing"))
    assert result.exit_code == 2
    if flags:
        assert json.loads(result.stdout)["findings"][0]["check"] == "database"
    else:
        assert "error: database: the database cannot be reached" in result.stdout
