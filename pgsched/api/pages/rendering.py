"""Renders templates and formats values for display. All values in templates are escaped."""

import re
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any
from uuid import UUID

from jinja2 import Environment, PackageLoader, StrictUndefined
from litestar import Request, Response
from markupsafe import Markup, escape

from pgsched.api.access import grant_of
from pgsched.api.pages.payload_display import content, field_of_instant, in_line
from pgsched.api.parameters import with_its_plus
from pgsched.api.problems import status_of
from pgsched.domain.duration import format_duration
from pgsched.domain.schedule import read_instant
from pgsched.domain.target import without_port
from pgsched.errors import PgschedError
from pgsched.version import __version__

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_TURNS = re.compile("[\u202a-\u202e\u2066-\u2069]")
_DONE = {
    "cancel": "Cancelled.",
    "pause": "Paused.",
    "resume": "Resumed.",
    "trigger": "An additional run was scheduled.",
    "replay": "Replayed: this is the new execution.",
    "discard": "Discarded. It stays in history.",
    "hold": "Held: no further executions of this client start until it is released.",
    "release": "Released.",
    "set": "Set. This applies to executions that have not started.",
    "drop": "Removed.",
    "sideline": "Sidelined: the host is not called until it is restored.",
    "restore": "Restored: the host gets a few executions a second at first, then more.",
    "unblock": "Unblocked: the waiting executions continue.",
    "edit": "Changed.",
    "reschedule": "The execution is due now.",
    "start": "Started: this is its progress.",
    "stop": "Stopped. Changes already made stay.",
    "drain": "Draining: the worker starts no further executions, and finishes those in hand.",
    "nothing": "Nothing changed: it was already in this state.",
}


def html(
    request: Request[Any, Any, Any],
    template: str,
    *,
    status: int | None = None,
    fault: PgschedError | None = None,
    **shown: Any,
) -> Response[str]:
    """Renders a page. The default status is that of ``fault``, or 200. In the template, ``may`` contains the viewer's
    scopes, and ``administers`` is true if the viewer can see administrators' pages."""
    grant = grant_of(request)
    if status is None:
        status = 200 if fault is None else status_of(fault)
    text = (
        _environment()
        .get_template(template)
        .render(
            may=grant.scopes if not request.app.state.parts.is_read_only else grant.scopes & {"read"},
            sees_all=grant.clients is None,
            administers=grant.clients is None and "admin" in grant.scopes,
            who=grant.subject,
            path=request.url.path,
            query=request.url.query,
            done=_done(request),
            release=__version__,
            now=datetime.now(UTC),
            fault=None if fault is None else str(fault),
            **shown,
        )
    )
    return Response(text, media_type="text/html", status_code=status, headers=HEADERS)


def _done(request: Request[Any, Any, Any]) -> str | None:
    """Returns the message about the form that led to this page, or None if the user comes from another site."""
    is_own = request.headers.get("sec-fetch-site", "same-origin") == "same-origin"
    return _DONE.get(request.query_params.get("done", "")) if is_own else None


@cache
def compile_templates() -> None:
    """Compiles all templates in advance, so that the first request does not take about 0.5 s longer."""
    environment = _environment()
    for name in environment.list_templates():
        environment.get_template(name)


@cache
def _environment() -> Environment:
    made = Environment(
        loader=PackageLoader("pgsched.api.pages"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=visible,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "instant": instant,
        "length": length,
        "number": number,
        "json": pretty,
        "short": short,
        "bytes": size,
        "part": part,
    }
    made.filters["duration"] = format_duration
    made.filters |= {"local": local, "compact": compact, "in_line": in_line}
    made.filters["without_port"] = without_port
    made.filters["exact"] = escape
    return made


def visible(value: Any) -> Any:
    """Escapes characters that would change the direction of the following text. Form fields use the filter ``exact``
    instead, because their values are submitted again."""
    if isinstance(value, str) and not isinstance(value, Markup) and _TURNS.search(value):
        return _TURNS.sub(lambda found: f"\\u{ord(found[0]):04x}", value)
    return value


def instant(value: datetime | None) -> str:
    """Formats an instant in UTC, with milliseconds unless they are zero."""
    if value is None:
        return "—"
    shown = value.astimezone(UTC)
    return f"{shown:%Y-%m-%d %H:%M:%S}" + (f".{shown.microsecond // 1000:03}" if shown.microsecond >= 1000 else "")


def length(value: float | timedelta | None) -> str:
    """Formats a duration in a suitable unit."""
    if value is None:
        return "—"
    seconds = value.total_seconds() if isinstance(value, timedelta) else value
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.1f} s" if seconds >= 1 else f"{seconds * 1000:.0f} ms"


def local(text: str) -> str:
    """Converts an instant that a user typed to the format of a form field, in UTC; empty if the instant is invalid."""
    try:
        found = read_instant(with_its_plus(text.strip()))
    except ValueError:
        return ""
    return field_of_instant(found if found.utcoffset() is None else found.astimezone(UTC))


def number(value: float | None) -> str:
    """Formats a number with thousands separators, or with one decimal if it is a small fraction."""
    if value is None:
        return "—"
    return f"{value:,.1f}" if isinstance(value, float) and value < 100 and value != int(value) else f"{value:,.0f}"


def size(value: int) -> str:
    """Formats a number of bytes in a suitable unit."""
    for unit, name in ((2**40, "TiB"), (2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if value >= unit:
            return f"{value / unit:.1f} {name}"
    return f"{value} B"


def part(value: float | None) -> str:
    """Formats a fraction in percent."""
    return "—" if value is None else f"{value:.0%}"


def pretty(value: Any) -> str:
    """Formats a value as indented JSON."""
    return content(value).text


def compact(value: int) -> str:
    """Formats a number in about three digits, for a narrow cell."""
    for size, unit in ((1_000_000, "M"), (1_000, "k")):
        if value >= size:
            return f"{value / size:.1f}{unit}" if value < 10 * size else f"{value // size}{unit}"
    return str(value)


def short(value: UUID) -> str:
    """Returns the end of an id, which differs even for ids created at the same moment."""
    return f"…{str(value)[-12:]}"
