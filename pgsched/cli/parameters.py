"""Parses parameters that several commands share: instants, JSON, ids. Click calls the functions as parameter types."""

import json
import sys
from datetime import datetime, timedelta
from math import isfinite
from pathlib import Path
from typing import Any
from uuid import UUID

import click
import msgspec

from pgsched.domain.duration import parse_duration
from pgsched.domain.schedule import read_instant
from pgsched.domain.target import host_alone
from pgsched.errors import InvalidInput, InvalidSchedule


class Number(click.FloatRange):
    """A finite number. Click's own type accepts NaN in any range."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        found = super().convert(value, param, ctx)
        if not isfinite(found):
            self.fail(f"{value!r} is not a number", param, ctx)
        return found


def instant(text: str) -> datetime:
    """An instant in ISO 8601, with an offset."""
    try:
        found = read_instant(text)
    except ValueError:
        raise click.BadParameter(f"{text!r} is not an instant: write ISO 8601, such as 2026-03-01T09:00:00Z") from None
    if found.utcoffset() is None:
        raise click.BadParameter(f"{text!r} has no offset: write {text}Z for UTC, or an offset as in {text}+01:00")
    return found


def duration(text: str) -> timedelta:
    """A duration such as 90s, 1h30m or PT1H30M."""
    try:
        return parse_duration(text)
    except InvalidSchedule as error:
        raise click.BadParameter(str(error)) from None


def json_text(text: str) -> msgspec.Raw:
    """JSON text, which is checked but not changed. @FILE reads the text from a file, and - from standard input."""
    read = _read(text)
    try:
        json.loads(read, parse_int=str, parse_constant=_no_number)
        return msgspec.Raw(read.encode())
    except (ValueError, RecursionError) as error:
        raise click.BadParameter(
            f"this is not JSON ({error}): put a string in double quotes, as in '\"text\"'"
        ) from None


def _no_number(word: str) -> None:
    raise ValueError(f"{word} is not a JSON number")


def _read(text: str) -> str:
    if text == "-":
        return sys.stdin.read()
    if not text.startswith("@"):
        return text
    try:
        return Path(text[1:]).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise click.BadParameter(f"cannot read {text[1:]}: {error}") from None


def assignment(text: str) -> tuple[str, Any]:
    """NAME=VALUE. The value is parsed if it is valid JSON, and is text otherwise."""
    name, value = _pair(text, "an option: write NAME=VALUE, such as timeout=PT5S")
    try:
        return name, json.loads(value)
    except (ValueError, RecursionError):
        return name, value


def label(text: str) -> tuple[str, str]:
    """NAME=TEXT."""
    return _pair(text, "a label: write NAME=TEXT, such as team=payments")


def host_name(text: str) -> str:
    """A target's host without the port, as filters expect it. Limits and sidelined hosts include the port."""
    try:
        return host_alone(text)
    except InvalidInput as error:
        raise click.BadParameter(str(error)) from None


def _pair(text: str, otherwise: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise click.BadParameter(f"{text!r} is not {otherwise}")
    return name, value


def identity(text: str) -> UUID:
    """The id of an object that has no key, such as a bulk operation."""
    try:
        return UUID(text)
    except ValueError:
        raise click.BadParameter(f"{text!r} is not an id: write a UUID, as shown by the command list") from None
