"""Checks of the connection to the database: round trip and clock. tests/poolers has those of poolers."""

import asyncio
import time

import pytest

from pgsched.store.doctor import database_connection
from tests.store.doctor.doctor_arrange import look, seen, slowed


async def test_a_slow_notification_is_reported_as_a_warning(database_url: str) -> None:
    assert await seen(database_url, "round trip") == []
    async with slowed(database_url, 0.03) as network:
        [(severity, text)] = await seen(network.url, "round trip", round_trip=0.03)
    assert severity == "warning"
    assert text.startswith("a notification took")


async def test_a_missing_notification_is_reported_as_an_error(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database_connection, "_HEARD_WITHIN", 0.05)
    monkeypatch.setattr(database_connection, "listen", lambda *_: asyncio.sleep(0))
    assert [severity for severity, _ in await seen(database_url, "round trip")] == ["error"]


@pytest.mark.parametrize(("ahead", "side"), [(10.0, "ahead of"), (-10.0, "behind")])
async def test_a_clock_skew_is_reported_as_a_warning(
    database_url: str, monkeypatch: pytest.MonkeyPatch, ahead: float, side: str
) -> None:
    true = time.time
    monkeypatch.setattr(time, "time", lambda: true() + ahead)
    [found] = await look(database_url, "clock")
    assert found.severity == "warning"
    assert f"seconds {side} the database's" in found.seen
