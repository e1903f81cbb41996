"""A command's single answer: text or, with ``--json``, exactly one JSON object on standard output.

Anyone who can schedule, respond to a call or name something can put text into an answer. So unprintable characters are
escaped, in text and JSON, on standard output and standard error.
"""

import re
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, TypeVar

import click

from pgsched.password_hiding import without_passwords
from pgsched.telemetry import printable

_UNCUT = 36
_UNPRINTABLE = re.compile(r"[^ -~]")
Command = TypeVar("Command", bound=Callable[..., Any])


class Reply:
    """Prints a command's single answer or error. Everything else goes to standard error."""

    def __init__(self, *, as_json: bool) -> None:
        self.as_json = as_json
        self._given = False

    def give(self, value: Mapping[str, Any], text: str) -> None:
        """Answers with ``value`` as JSON, or with ``text``."""
        self._given = True
        click.echo(_dumps(value) if self.as_json else _lines(text))

    def fail(self, code: str, message: str) -> None:
        """Answers with an error, with any passwords removed. If an answer was already given, prints the error on
        standard error, even with ``--json``."""
        message = without_passwords(message)
        if self.as_json and not self._given:
            self.give({"error": {"code": code, "message": message}}, "")
        else:
            click.echo(f"error: {_lines(message)}", err=True)

    def note(self, text: str) -> None:
        """Prints a note on standard error, with any passwords removed."""
        click.echo(_lines(without_passwords(text)), err=True)


def json_option(command: Command) -> Command:
    """Adds ``--json``."""
    return click.option(
        "--json",
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=_choose,
        help="Print exactly one JSON object on standard output.",
    )(command)


def table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Formats rows under their headings, padded with spaces. None becomes a dash. On a terminal, the widest columns are
    cut until the lines fit, but never below the length of an id."""
    cells = [[_cell(value) for value in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(columns, *cells, strict=True)]
    widths = _fitting(widths, shutil.get_terminal_size().columns) if sys.stdout.isatty() else widths
    lines = [
        "  ".join(_cut(text, width).ljust(width) for text, width in zip(row, widths, strict=True))
        for row in [columns, *cells]
    ]
    return "\n".join(line.rstrip() for line in lines)


def _fitting(widths: list[int], room: int) -> list[int]:
    """Narrows the widest columns until the lines fit, if possible."""
    over = sum(widths) + 2 * (len(widths) - 1) - room
    while over > 0 and (widest := max(widths)) > _UNCUT:
        beside = max((width for width in widths if width < widest), default=_UNCUT)
        each = [place for place, width in enumerate(widths) if width == widest]
        less = min(widest - max(beside, _UNCUT), -(-over // len(each)))
        for place in each:
            widths[place] -= less
        over -= less * len(each)
    return widths


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"


def listing(fields: Mapping[str, object]) -> str:
    """Formats fields as lines of ``name  value``."""
    width = max(map(len, fields))
    return "\n".join(f"{name.ljust(width)}  {_cell(value)}" for name, value in fields.items())


def _lines(text: str) -> str:
    return "\n".join(map(printable, text.split("\n")))


def _choose(context: click.Context, _: click.Parameter, chosen: bool) -> None:
    context.find_root().obj.as_json = chosen


def _dumps(value: object) -> str:
    import msgspec

    return _UNPRINTABLE.sub(_as_json, msgspec.json.encode(value).decode())


def _as_json(found: re.Match[str]) -> str:
    """Escapes characters that JSON allows but a terminal would interpret."""
    if found[0].isprintable():
        return found[0]
    units = found[0].encode("utf-16-be")
    return "".join(f"\\u{units[n : n + 2].hex()}" for n in range(0, len(units), 2))


def _cell(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, datetime):
        return value.isoformat(sep=" ", timespec="milliseconds")
    if isinstance(value, timedelta):
        return f"{value.total_seconds():.3f} s"
    if isinstance(value, list):
        return printable(",".join(map(str, value)))
    return printable(value) if isinstance(value, str) else _dumps(value).strip('"')
