"""Values that several commands read: instants, JSON, identities."""

import json
import sys
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import click


class InstantType(click.ParamType[datetime]):
    """ISO 8601 with an offset."""

    name = "instant"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> datetime:
        if isinstance(value, datetime):
            return value
        try:
            instant = datetime.fromisoformat(value)
        except ValueError:
            self.fail(f"{value!r} is not an instant: write ISO 8601, such as 2026-03-01T09:00:00Z", param, ctx)
        if instant.utcoffset() is None:
            self.fail(f"{value!r} has no offset: write {value}Z for UTC, or such as {value}+01:00", param, ctx)
        return instant


class Json(click.ParamType[str]):
    """JSON text; @FILE reads a file, - standard input. Checked here, sent on as it is."""

    name = "json"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        text = self._read(str(value), param, ctx)
        try:
            json.loads(text)
        except ValueError as error:
            self.fail(f"it is not JSON: {error}. Text needs its own quotes: '\"text\"'", param, ctx)
        return text

    def _read(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if value == "-":
            return sys.stdin.read()
        if not value.startswith("@"):
            return value
        try:
            return Path(value[1:]).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            self.fail(f"cannot read {value[1:]}: {error}", param, ctx)


class Assignment(click.ParamType[tuple[str, Any]]):
    """NAME=VALUE; the value is JSON where it can be read as JSON, else text."""

    name = "assignment"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, Any]:
        if isinstance(value, tuple):
            return value
        name, equals, text = value.partition("=")
        if not equals or not name:
            self.fail(f"{value!r} is not an option: write NAME=VALUE, such as timeout=PT5S", param, ctx)
        try:
            return name, json.loads(text)
        except ValueError:
            return name, text


class Label(click.ParamType[tuple[str, str]]):
    """NAME=TEXT."""

    name = "label"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, str]:
        if isinstance(value, tuple):
            return value
        name, equals, text = value.partition("=")
        if not equals or not name:
            self.fail(f"{value!r} is not a label: write NAME=TEXT, such as team=payments", param, ctx)
        return name, text


class Identity(click.ParamType[UUID]):
    """The id of a job or an execution."""

    name = "id"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> UUID:
        if isinstance(value, UUID):
            return value
        try:
            return UUID(value)
        except ValueError:
            self.fail(f"{value!r} is not an id: write the UUID that scheduling answered with", param, ctx)


INSTANT, JSON, ASSIGNMENT, LABEL, IDENTITY = InstantType(), Json(), Assignment(), Label(), Identity()
