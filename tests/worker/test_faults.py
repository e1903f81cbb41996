"""A fault is logged once when it starts and once when it ends, however many services fail and how often."""

import asyncio
import logging

import pytest

from pgsched.scheduler import Worker
from pgsched.service import Service
from pgsched.settings import Settings
from pgsched.telemetry import Events, Faults, Field, logging_listener

AWAY: dict[str, Field] = {"away": True, "error": "OperationalError: connection refused"}


class Heard:
    """The events that are passed on."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, dict[str, Field]]] = []
        self.events = Events(Faults(lambda event, fields: self.lines.append((event, fields))))

    @property
    def names(self) -> list[str]:
        return [event for event, _ in self.lines]


def test_an_outage_is_logged_once_when_it_begins_and_once_when_it_ends() -> None:
    heard = Heard()
    for _ in range(10):
        for service in ("claimer", "settler", "listener"):
            heard.events.emit("service.failed", service=service, **AWAY)
            heard.events.emit("database.lost", role=service, error="connection refused")
            heard.events.emit("listener.lost", error="connection refused")
    heard.events.emit("service.recovered", service="claimer", failures=10, seconds=1.0)
    heard.events.emit("service.recovered", service="listener", failures=10, seconds=1.0)
    assert heard.names == ["database.lost"]
    heard.events.emit("service.recovered", service="settler", failures=10, seconds=1.0)
    assert heard.names == ["database.lost", "database.back"]
    assert heard.lines[1][1]["failures"] == 30


def test_a_changed_error_during_an_outage_is_logged_once() -> None:
    heard = Heard()
    heard.events = Events(Faults(lambda event, fields: heard.lines.append((event, fields)), say_again_after=0.0))
    refused = "OperationalError: FATAL: password authentication failed"
    for error in ("server closed the connection", refused, "server closed the connection", refused):
        heard.events.emit("service.failed", service="claimer", away=True, error=error)
    heard.events.emit("service.recovered", service="claimer", failures=4, seconds=1.0)
    assert heard.names == ["database.lost", "database.lost", "database.back"]
    assert heard.lines[1][1]["error"] == refused


def test_each_outage_is_logged() -> None:
    heard = Heard()
    for _ in range(2):
        heard.events.emit("service.failed", service="claimer", **AWAY)
        heard.events.emit("service.recovered", service="claimer", failures=1, seconds=0.1)
    assert heard.names == ["database.lost", "database.back"] * 2


def test_a_services_repeated_error_is_logged_once_until_it_recovers() -> None:
    heard = Heard()
    for error in ("ValueError: a", "ValueError: a", "ValueError: b", "ValueError: b"):
        heard.events.emit("service.failed", service="planner", away=False, error=error)
    assert [fields["error"] for _, fields in heard.lines] == ["ValueError: a", "ValueError: b"]
    heard.events.emit("service.recovered", service="planner", failures=4, seconds=0.1)
    heard.events.emit("service.failed", service="planner", away=False, error="ValueError: b")
    assert heard.names[2:] == ["service.recovered", "service.failed"]


def test_an_ongoing_fault_is_logged_again_with_its_count() -> None:
    said: list[dict[str, Field]] = []
    faults = Faults(lambda event, fields: said.append(fields), remind_after=0.0)
    faults._said["service.failed", "planner", "ValueError"] = 0.0, 7
    faults("service.failed", {"service": "planner", "away": False, "error": "ValueError"})
    assert said == [{"service": "planner", "error": "ValueError", "times": 8}]


def test_a_flapping_database_error_is_logged_once_for_all_services() -> None:
    heard = Heard()
    for number in range(50):
        for service in ("claimer", "settler"):
            error = f'DiskFull: could not extend file "base/5/{number}": No space left on device\nCONTEXT: {service}'
            heard.events.emit("service.failed", service=service, away=False, by_database=True, error=error)
        for service in ("claimer", "settler"):
            heard.events.emit("service.recovered", service=service, failures=1, seconds=0.1)
    assert heard.names == ["service.failed", "service.recovered"]
    assert heard.lines[0][1].keys() == {"service", "error"}
    heard.events.emit("service.failed", service="claimer", away=False, by_database=True, error="LockNotAvailable: x")
    heard.events.emit("service.failed", service="settler", away=False, by_database=False, error="LockNotAvailable: x")
    assert heard.names[2:] == ["service.failed"] * 2


def test_at_most_a_thousand_distinct_errors_are_remembered() -> None:
    heard = Heard()
    for number in range(3_000):
        error = "".join(chr(97 + int(digit)) for digit in str(number))
        heard.events.emit("service.failed", service="planner", away=False, error=error)
    faults = heard.events._listeners[0]
    assert isinstance(faults, Faults)
    assert len(faults._said) == 1_000
    assert len(heard.lines) == 3_000


def test_events_that_are_not_faults_are_passed_on() -> None:
    heard = Heard()
    for _ in range(3):
        heard.events.emit("lease.doubted", count=1)
    assert heard.names == ["lease.doubted"] * 3


def test_refused_outcomes_are_logged_as_sums() -> None:
    heard = Heard()
    for _ in range(400):
        heard.events.emit("lease.refused", count=1)
    assert heard.lines == [("lease.refused", {"count": 1})]
    said: list[dict[str, Field]] = []
    faults = Faults(lambda event, fields: said.append(fields), sum_up_after=0.0)
    faults._refused = 399
    faults("lease.refused", {"count": 2})
    faults("lease.refused", {"count": 1})
    assert said == [{"count": 401}, {"count": 1}]


async def test_a_worker_without_a_database_logs_the_outage_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "pgsched")
    tried: list[str] = []
    events = Events(lambda event, fields: tried.append(event), logging_listener(logging.getLogger("pgsched")))
    worker = Worker(Settings(database_url="postgresql://127.0.0.1:1/nowhere", drain_timeout=0.1), events=events)
    await worker.start()
    async with asyncio.timeout(20):
        while tried.count("service.failed") < 60:  # noqa: ASYNC110
            await asyncio.sleep(0.02)
    await worker.drain()
    lines = [record.message for record in caplog.records if record.levelno >= logging.WARNING]
    assert len(lines) == 1
    assert lines[0].startswith("database.lost ")


async def test_a_failed_service_reports_its_recovery(caplog: pytest.LogCaptureFixture) -> None:
    heard: list[tuple[str, Field]] = []

    class Stumbling(Service):
        name, first_pause, longest_pause, turns = "stumbling", 0.001, 0.001, 0

        async def turn(self) -> float:
            self.turns += 1
            if self.turns < 3:
                raise ConnectionError
            self.stop()
            return 0.0

    def listen(event: str, fields: dict[str, Field]) -> None:
        heard.append((event, fields.get("away", fields.get("failures"))))

    await Stumbling(Events(listen)).run()
    assert heard == [("service.failed", True), ("service.failed", True), ("service.recovered", 2)]
