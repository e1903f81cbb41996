"""Sets up logging: readable lines on a terminal, and one JSON object per line elsewhere."""

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
from pgsched.password_hiding import without_passwords
from pgsched.settings import Settings
from pgsched.telemetry import FIELDS, printable

_OF_EVERY_RECORD = logging.makeLogRecord({}).__dict__.keys() | {"message", "asctime", "taskName", FIELDS}

_OF_EVERY_LINE = frozenset({"timestamp", "level", "logger", "event", "program"})
_MOST_BITS = 1024


def decided(settings: Settings) -> Settings:
    """Replaces the log format ``auto`` with ``human`` if standard error is a terminal, or else with ``json``."""
    if settings.log_format != "auto":
        return settings
    return dataclasses.replace(settings, log_format="human" if sys.stderr.isatty() else "json")


def begin_log(settings: Settings) -> None:
    """Sends all logs of this process to standard error, without ever blocking."""
    handler = _writer()
    handler.setFormatter(formatter(decided(settings).log_format))
    logging.basicConfig(level=settings.log_level.upper(), handlers=[handler])
    # A broken connection is logged once, as one of our events. psycopg's log lines would only repeat it.
    logging.getLogger("psycopg").setLevel(logging.ERROR)


def _writer() -> logging.Handler:
    try:
        return LogWriter(sys.stderr.fileno())
    except io.UnsupportedOperation:  # stderr has been replaced, as in a notebook, so the log goes to the replacement
        return logging.StreamHandler()


def formatter(log_format: str) -> logging.Formatter:
    """Returns the formatter for the log format ``human`` or ``json``."""
    if log_format == "human":
        return Printable("%(asctime)s %(levelname)s %(name)s %(message)s")
    return JsonLines()


class Printable(logging.Formatter):
    """Escapes control characters in the log lines of all loggers, and removes passwords."""

    def format(self, record: logging.LogRecord) -> str:
        return "\n".join(map(printable, without_passwords(super().format(record)).split("\n")))


class JsonLines(logging.Formatter):
    """Writes each record as one JSON object in ASCII, without passwords.

    The object for one of our events contains the event's name and fields instead of its text. Any other object contains
    the record's text and the fields given as ``extra``.
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
    """Writes a supervisor's messages and its programs' logs in one format."""

    def __init__(self, note: Callable[[str], None], settings: Settings) -> None:
        self._note, self._is_json = note, decided(settings).log_format == "json"

    def say(self, text: str) -> None:
        """Writes a message of the supervisor itself."""
        self._note(_line({"event": text}) if self._is_json else text)

    def line(self, program: str, text: str) -> None:
        """Writes a line from a program's standard error, which may or may not be a log line."""
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
    """Converts a field's value for JSON. Replaces a value that has no JSON form, so that the line is not lost."""
    try:
        return _without_passwords(value)
    except Exception as error:
        return f"({type(error).__name__}: cannot be converted)"


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
