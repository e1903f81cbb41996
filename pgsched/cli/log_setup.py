"""The log: lines for people on a terminal, and JSON, an object a line, for whatever collects it elsewhere."""

import dataclasses
import io
import json
import logging
import math
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from pgsched.cli.nonblocking_log import LogWriter
from pgsched.event_emitter import FIELDS, printable
from pgsched.password_hiding import without_passwords
from pgsched.settings import Settings

_OF_EVERY_RECORD = logging.makeLogRecord({}).__dict__.keys() | {"message", "asctime", "taskName", FIELDS}

_OF_EVERY_LINE = frozenset({"timestamp", "level", "logger", "event", "program"})
_MOST_BITS = 1024


def decided(settings: Settings) -> Settings:
    """The settings with a format of the log that does not depend on where it goes."""
    if settings.log_format != "auto":
        return settings
    return dataclasses.replace(settings, log_format="human" if sys.stderr.isatty() else "json")


def begin_log(settings: Settings) -> None:
    """Has everything that is logged in this process written to standard error, whether somebody reads that or not."""
    handler = _writer()
    handler.setFormatter(formatter(decided(settings).log_format))
    logging.basicConfig(level=settings.log_level.upper(), handlers=[handler])
    # That a connection broke is said once, as an event of ours; psycopg's own lines would only repeat it.
    logging.getLogger("psycopg").setLevel(logging.ERROR)


def _writer() -> logging.Handler:
    try:
        return LogWriter(sys.stderr.fileno())
    except io.UnsupportedOperation:  # what stands in for it, as in a notebook, is written to as it is
        return logging.StreamHandler()


def formatter(log_format: str) -> logging.Formatter:
    """That of ``human`` or ``json``."""
    if log_format == "human":
        return Printable("%(asctime)s %(levelname)s %(name)s %(message)s")
    return JsonLines()


class Printable(logging.Formatter):
    """Escapes control characters in log lines, whoever logged them, and leaves passwords out."""

    def format(self, record: logging.LogRecord) -> str:
        return "\n".join(map(printable, without_passwords(super().format(record)).split("\n")))


class JsonLines(logging.Formatter):
    """Writes each record as one JSON object in ASCII, without passwords.

    An event has its name and its fields in place of the line that is written for people. What others log has the
    fields that they gave as ``extra``.
    """

    def format(self, record: logging.LogRecord) -> str:
        told: dict[str, Any] = {"event": record.getMessage()}
        for name in record.__dict__.keys() - _OF_EVERY_RECORD:
            told[f"{name}_" if name in _OF_EVERY_LINE else name] = record.__dict__[name]
        if (event := getattr(record, FIELDS, None)) is not None:
            name, fields = event
            told |= {key: value for key, value in fields.items() if value is not None} | {"event": name}
        told["timestamp"] = _text(datetime.fromtimestamp(record.created, UTC))
        told |= {"level": record.levelname.lower(), "logger": record.name}
        if record.exc_info:
            told["exception"] = self.formatException(record.exc_info)
        if record.stack_info:
            told["stack_info"] = self.formatStack(record.stack_info)
        return json.dumps({name: _written(value) for name, value in told.items()})


class Relay:
    """Writes what a supervisor says, and what its programs log, in the one format."""

    def __init__(self, note: Callable[[str], None], settings: Settings) -> None:
        self._note, self._is_json = note, decided(settings).log_format == "json"

    def say(self, text: str) -> None:
        """A word of the supervisor's own."""
        self._note(_line({"event": text}) if self._is_json else text)

    def line(self, program: str, text: str) -> None:
        """What a program has written: its log, or whatever else is written to standard error in it."""
        if not self._is_json:
            return self._note(f"{program} | {text}")
        try:
            told = json.loads(text)
        except ValueError:
            told = None
        return self._note(_line({"program": program} | (told if isinstance(told, dict) else {"event": text})))


def _line(told: dict[str, Any]) -> str:
    if "timestamp" not in told:
        told |= {"timestamp": _text(datetime.now(UTC)), "level": "info", "logger": "pgsched"}
    return json.dumps(told)


def _written(value: Any) -> Any:
    """A line is not lost for a field whose value cannot say what it is, or contains itself."""
    try:
        return _without_passwords(value)
    except Exception as error:
        return f"({type(error).__name__}: it cannot be written)"


def _without_passwords(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(name): _without_passwords(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_without_passwords(one) for one in value]
    if isinstance(value, int) and value.bit_length() > _MOST_BITS:
        return f"{value:#x}"
    if value is None or isinstance(value, int) or (isinstance(value, float) and math.isfinite(value)):
        return value
    return without_passwords(str(value))


def _text(instant: datetime) -> str:
    return instant.isoformat(timespec="milliseconds").replace("+00:00", "Z")
