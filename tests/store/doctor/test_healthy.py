"""The doctor's report: no findings on a healthy database, and checks that fail do not affect others."""

import re
from pathlib import Path
from typing import Any

import pytest

from pgsched.sealing import KeyRing
from pgsched.store.core.lock_capacity import public_revokes
from pgsched.store.core.new_connection import lending
from pgsched.store.doctor import examination
from pgsched.store.doctor.examination import CHECKS, examine
from pgsched.store.doctor.finding import CheckContext, Finding, Report, literal, warning
from tests.conftest import Connection
from tests.databases import login_as
from tests.store.doctor.doctor_arrange import make_days, register, session_of_the_worker, slowed
from tests.store.store_arrange import KEY, rotate

pytestmark = [pytest.mark.oldest_postgresql]


async def _report(url: str, **more: Any) -> Report:
    async with lending(url) as lend:
        return await examine(lend, url=url, **more)


async def test_a_healthy_database_has_no_findings(db: Connection, database_url: str) -> None:
    db.execute(
        "select pgsched.schedule('python:note', delay => '1 hour'), pgsched.create_queue('pull', '{\"pulled\": true}')"
    )
    rotate(db)
    db.execute(public_revokes().encode())
    try:
        with login_as(db, database_url, "pgsched_worker") as url:
            await make_days(database_url)
            await register(url)
            with session_of_the_worker(url):
                report = await _report(database_url, ring=KeyRing.parse(KEY))
    finally:
        db.execute("grant connect, temporary on database postgres, template1 to public")
    assert report.findings == []
    assert (report.status, report.checks) == ("fine", list(CHECKS))
    assert report.revision == "pgsched_0001"
    assert report.server


async def test_an_unreachable_database_is_reported_as_the_only_finding() -> None:
    report = await _report("postgresql://nobody@127.0.0.1:1/nothing")
    assert (report.status, report.checks) == ("error", [])
    [found] = report.findings
    assert found.check == "database"
    assert "cannot be reached" in found.seen


async def test_an_unmigrated_database_gets_only_the_advice_to_migrate(empty_database_url: str) -> None:
    report = await _report(empty_database_url)
    assert [(one.check, one.severity, one.do) for one in report.findings if one.severity != "note"] == [
        ("schema", "error", "run pgsched migrate.")
    ]
    assert report.revision is None
    assert "connections" in report.checks
    assert "queues" not in report.checks


async def test_a_failing_or_hanging_check_does_not_stop_other_checks(database_url: str) -> None:
    async def fails(ground: CheckContext) -> list[Finding]:
        await ground.connection.execute("select 1 / 0")
        return []

    async def hangs(ground: CheckContext) -> list[Finding]:
        await ground.connection.execute("set local statement_timeout = '20ms'")
        await ground.connection.execute("select pg_sleep(60)")
        return []

    async def breaks(ground: CheckContext) -> list[Finding]:
        await ground.connection.execute("select pg_terminate_backend(pg_backend_pid())")
        return []

    async def is_wrong(ground: CheckContext) -> list[Finding]:
        raise KeyError("no such thing")

    checks = {"fails": fails, "hangs": hangs, "breaks": breaks, "is wrong": is_wrong, "settings": CHECKS["settings"]}
    report = await _report(database_url, checks=checks)
    assert report.checks == list(checks)
    assert [(one.check, one.severity) for one in report.findings] == [
        ("fails", "warning"),
        ("hangs", "warning"),
        ("breaks", "warning"),
        ("is wrong", "warning"),
    ]
    assert "division by zero" in report.findings[0].seen


@pytest.mark.parametrize("group", ["pgsched_reader", "pgsched_worker"])
async def test_reader_and_worker_logins_can_run_every_check(db: Connection, database_url: str, group: str) -> None:
    await register(database_url)
    rotate(db)
    with session_of_the_worker(database_url), login_as(db, database_url, group) as url:
        report = await _report(url, ring=KeyRing.parse(KEY))
    assert [finding for finding in report.findings if "could not be checked" in finding.seen] == []
    assert report.checks == list(CHECKS)


@pytest.mark.parametrize("group", ["pgsched_client", "pg_monitor"])
async def test_checks_skipped_for_lack_of_rights_are_reported(db: Connection, database_url: str, group: str) -> None:
    with login_as(db, database_url, group) as url:
        report = await _report(url)
    unseen = {finding.check for finding in report.findings if "lacks privileges" in finding.seen}
    assert {"schema", "workers", "handlers", "secrets"} <= unseen
    assert "connections" not in unseen
    assert report.status == "warning"


async def test_findings_escape_names_and_redact_passwords(database_url: str) -> None:
    name = "o'k"

    async def names(ground: CheckContext) -> list[Finding]:
        return [warning("a\nerror: b\x1b[2J", why="postgresql://u:secret@h/d", do=f"rollback prepared {literal(name)}")]

    [found] = (await _report(database_url, checks={"names": names})).findings
    assert (found.seen, found.do) == ("a\\nerror: b\\x1b[2J", "rollback prepared 'o''k'")
    assert "secret" not in found.why


async def test_a_check_on_a_silent_server_times_out(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(examination, "_EACH", 0.3)
    monkeypatch.setattr(examination, "_ALL", 0.2)

    async def falls_silent(ground: CheckContext) -> list[Finding]:
        network.delay = 3600.0
        await ground.connection.execute("select 1")
        return []

    async with slowed(database_url) as network:
        report = await _report(network.url, checks={"silent": falls_silent, "settings": CHECKS["settings"]})
    assert [(one.check, one.severity) for one in report.findings] == [("silent", "warning"), ("settings", "warning")]
    assert "longer than 0.3 seconds" in report.findings[0].seen


def test_every_check_is_documented() -> None:
    page = (Path(__file__).parents[3] / "docs" / "how-to" / "doctor.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| `([a-z -]+)` \|", page.partition("## The checks")[2], re.MULTILINE)
    assert listed == list(CHECKS)
