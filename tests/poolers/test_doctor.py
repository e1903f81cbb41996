"""The doctor behind a pooler: it runs all checks and reports what the pool is suitable for."""

from pgsched.store.core.new_connection import lending
from pgsched.store.doctor.examination import CHECKS, examine


async def test_the_doctor_reports_a_transaction_pool(transaction_url: str) -> None:
    assert "for one transaction" in await _noted(transaction_url)


async def test_the_doctor_reports_a_session_pool(session_url: str) -> None:
    assert "for each session" in await _noted(session_url)


async def _noted(url: str) -> str:
    async with lending(url) as lend:
        report = await examine(lend, url=url)
    assert report.checks == list(CHECKS)
    assert [finding for finding in report.findings if "could not be checked" in finding.seen] == []
    [found] = [finding for finding in report.findings if finding.check == "pooler"]
    assert found.severity == "note"
    return found.seen
