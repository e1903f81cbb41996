"""The log in its two formats, for people and for programs."""

import json
import logging
import math
from io import StringIO
from typing import Any

import pytest

from pgsched.cli.log_setup import Relay, decided, formatter
from pgsched.errors import InvalidSettings
from pgsched.settings import Settings
from pgsched.telemetry import Events, logging_listener

NASTY = 'a"b\n2026-11-23 ERROR forged \x1b[2J \u2028 \x9b'


class Written:
    """A logger and the lines that it wrote."""

    def __init__(self, log_format: str) -> None:
        self._stream = StringIO()
        self.logger = logging.Logger("pgsched.test", logging.DEBUG)
        handler = logging.StreamHandler(self._stream)
        handler.setFormatter(formatter(log_format))
        self.logger.addHandler(handler)
        self.events = Events(logging_listener(self.logger))

    @property
    def lines(self) -> list[str]:
        return self._stream.getvalue().split("\n")[:-1]

    @property
    def objects(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.lines]


@pytest.fixture
def written() -> Written:
    return Written("json")


def test_an_event_is_logged_as_a_json_object_with_its_fields(written: Written) -> None:
    fields: dict[str, Any] = {"execution": "01a2", "client": "shop", "attempt": 3, "traceback": "one\ntwo", "job": None}
    written.events.emit("handler.failed", **fields)
    [told] = written.objects
    assert told.pop("timestamp").endswith("Z")
    del fields["job"]
    assert told == {"event": "handler.failed", "level": "warning", "logger": "pgsched.test"} | fields


def test_a_frequent_event_is_logged_at_debug_level(written: Written) -> None:
    written.events.emit("dependents.released", count=1)
    written.events.emit("worker.drained", settled=1)
    assert [told["level"] for told in written.objects] == ["debug", "info"]


@pytest.mark.parametrize("log_format", ["json", "human"])
def test_logged_values_cannot_forge_lines_or_control_the_terminal(log_format: str) -> None:
    written = Written(log_format)
    written.events.emit("job.invalid", client=NASTY, reason=NASTY)
    written.logger.warning("a library says %s", NASTY)
    assert all(line.isascii() or line.isprintable() for line in written.lines)
    assert len(written.lines) == (2 if log_format == "json" else 3)
    if log_format == "json":
        assert [told.get("client") for told in written.objects] == [NASTY, None]


@pytest.mark.parametrize("log_format", ["json", "human"])
def test_passwords_are_not_logged(log_format: str) -> None:
    written = Written(log_format)
    written.events.emit("service.failed", service="x", error="no connection to postgresql://me:hunter2@db/shop")
    written.logger.error("password=hunter2 host=db")
    try:
        raise ValueError("postgresql://me:hunter2@db/shop")
    except ValueError:
        written.logger.exception("it broke")
    assert "hunter2" not in "\n".join(written.lines)
    assert "ValueError" in "\n".join(written.lines)


def test_a_database_outage_is_logged_once_at_its_start_and_once_at_its_end(written: Written) -> None:
    for service in ["claimer", "settler"] * 20:
        written.events.emit("service.failed", service=service, error="gone", away=True)
    for service in ["claimer", "settler"]:
        written.events.emit("service.recovered", service=service)
    assert [told["event"] for told in written.objects] == ["database.lost", "database.back"]
    assert written.objects[1]["failures"] == 40


def test_relayed_json_lines_contain_the_program_name() -> None:
    lines: list[str] = []
    relay = Relay(lines.append, Settings(log_format="json"))
    relay.line("worker-1", '{"event": "drained", "timestamp": "2026-01-01T00:00:00.000Z", "level": "info"}')
    relay.line("worker-1", "Segmentation fault")
    relay.line("worker-1", "[1]")
    relay.say("stopping")
    told = [json.loads(line) for line in lines]
    assert told[0] == {
        "program": "worker-1", "event": "drained", "timestamp": "2026-01-01T00:00:00.000Z", "level": "info",
    }  # fmt: skip
    assert [(one.get("program"), one["event"]) for one in told[1:]] == [
        ("worker-1", "Segmentation fault"), ("worker-1", "[1]"), (None, "stopping"),
    ]  # fmt: skip
    assert all(one["timestamp"] for one in told)


def test_relayed_human_readable_lines_start_with_the_program_name() -> None:
    lines: list[str] = []
    relay = Relay(lines.append, Settings(log_format="human"))
    relay.line("worker-1", "drained")
    relay.say("stopping")
    assert lines == ["worker-1 | drained", "stopping"]


@pytest.mark.parametrize(("is_terminal", "expected"), [(True, "human"), (False, "json")])
def test_the_default_log_format_is_human_on_a_terminal_and_json_elsewhere(
    monkeypatch: pytest.MonkeyPatch, is_terminal: bool, expected: str
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: is_terminal, raising=False)
    assert decided(Settings()).log_format == expected
    assert decided(Settings(log_format="human")).log_format == "human"


def test_an_unknown_log_format_is_refused() -> None:
    with pytest.raises(InvalidSettings, match="log_format is 'xml'; it must be one of auto, human, json"):
        Settings(log_format="xml")


def test_an_applications_extra_fields_are_logged(written: Written) -> None:
    given = {
        "order": 42,
        "level": "mine",
        "event": "mine",
        "where": {"url": "postgresql://a:secret@db/shop"},
        "at": (1,),
    }
    written.logger.info("placed %s", 42, extra=given)
    [told] = written.objects
    assert (told["event"], told["level"], told["order"], told["at"]) == ("placed 42", "info", 42, [1])
    assert "secret" not in json.dumps(told)
    assert (told["event_"], told["level_"]) == ("mine", "mine")
    assert told.keys() == {"event", "level", "logger", "timestamp", "order", "where", "at", "event_", "level_"}


class Mute:
    def __str__(self) -> str:
        raise RuntimeError("cannot be text")


def test_a_line_with_unserializable_extra_fields_is_still_logged(written: Written) -> None:
    endless: list[Any] = []
    endless.append(endless)
    given = {"nan": math.nan, "huge": 10**5000, "mute": Mute(), "endless": endless, "mixed": {1: {2}}, "half": "\ud800"}
    written.logger.info("placed", extra=given)
    [told] = written.objects
    assert (told["nan"], told["huge"][:2], told["mixed"], told["half"]) == ("nan", "0x", {"1": "{2}"}, "\ud800")
    assert (told["mute"], told["endless"]) == (
        "(RuntimeError: cannot be converted)", "(RecursionError: cannot be converted)",
    )  # fmt: skip
