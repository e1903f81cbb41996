"""Reads the fields that forms and links send: fields to change, and filters. In a filter, empty fields are ignored."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from math import isfinite
from typing import Annotated, Any, TypeVar
from urllib.parse import parse_qsl, urlencode
from uuid import UUID

import msgspec
from litestar import Request
from litestar.params import QueryParameter

from pgsched.api.parameters import labels_in, with_its_plus
from pgsched.api.problems import Unreadable
from pgsched.domain.schedule import instant_of, read_instant
from pgsched.domain.states import STATUSES, each_once
from pgsched.domain.target import host_alone
from pgsched.errors import InvalidInput, InvalidSchedule
from pgsched.store.lookup.filters import DeadLetterFilter, ExecutionFilter, JobFilter

OF_EXECUTIONS = ("client", "queue", "host", "key", "job", "label", "from", "to")
OF_LETTERS = ("client", "host", "key", "job", "label", "reason", "status_code", "target", "from", "to")
_MOST_FIELDS = 200
_READ_AT_ONCE = 65_536
_NAMES = frozenset({"client", "name", "key", "ordering_key"})
"""Fields whose values may begin or end with spaces."""
_Struct = TypeVar("_Struct", bound=msgspec.Struct)
_Filter = TypeVar("_Filter", ExecutionFilter, DeadLetterFilter, JobFilter)
Text = Annotated[str | None, QueryParameter()]
"""A field of a filter; empty if it was not filled in."""


async def read_form(request: Request[Any, Any, Any]) -> dict[str, str]:
    """Returns the fields of a submitted form, or an empty dict if the body is not a form. Parses a large form in a
    thread. Raises Unreadable if the form has too many fields or is not UTF-8."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/x-www-form-urlencoded":
        return {}
    body = await request.body()
    if body.count(b"&") >= _MOST_FIELDS:
        raise Unreadable(f"the form has more than {_MOST_FIELDS} fields: send only the fields of the page", status=413)
    if len(body) <= _READ_AT_ONCE:
        return _fields(body)
    return await asyncio.to_thread(_fields, body)


def _fields(body: bytes) -> dict[str, str]:
    try:
        return dict(parse_qsl(body.decode(), keep_blank_values=True, errors="strict"))
    except UnicodeDecodeError:
        raise Unreadable("the form is not UTF-8: encode it as UTF-8") from None


async def sent(request: Request[Any, Any, Any]) -> dict[str, str]:
    """Returns the fields of a submitted form, with surrounding spaces removed except from names. Raises Unreadable."""
    form = {name: _trimmed(name, value) for name, value in (await read_form(request)).items()}
    if any("\x00" in text for text in form.values()):
        raise Unreadable("the form contains a NUL character: remove it", status=422)
    return form


def named(name: str, text: str | None) -> str:
    """Returns the value of a required field. Raises Unreadable if it is empty."""
    if not text:
        raise Unreadable(f"{name} is missing: give a value", status=422)
    return text


def struct_of(kind: type[_Struct], form: Mapping[str, str], names: Sequence[str], *, empty: bool = True) -> _Struct:
    """Builds the body of a route under ``/v1`` from the fields in ``names`` that the form contains. An empty field
    becomes null or, if ``empty`` is False, is omitted. Raises Unreadable if a field is invalid."""
    given = {name: form[name] or None for name in names if name in form and (form[name] or empty)}
    try:
        return msgspec.convert(given, kind, strict=False)
    except msgspec.ValidationError as error:
        raise Unreadable(str(error).replace("`", ""), status=422) from None


def link_to(request: Request[Any, Any, Any], path: str | None = None, **changed: str | None) -> str:
    """Returns a link to this page, or to ``path``, with the current parameters and those in ``changed``. None in
    ``changed`` removes a parameter."""
    kept = [
        (name, value) for name, value in request.query_params.multi_items() if value and name not in {*changed, "done"}
    ]
    given = [(name, value) for name, value in changed.items() if value is not None]
    return f"{path or request.url.path}?{urlencode([*kept, *given])}".removesuffix("?")


def place(request: Request[Any, Any, Any], after: str | None, next: object) -> dict[str, Any]:
    """Returns two links of a listing: to the first page (None on the first page), and to the page after ``next`` (None
    on the last page)."""
    first_page = link_to(request, after=None) if after else None
    return {"first_page": first_page, "more": None if next is None else link_to(request, after=str(next))}


def cleared(**asked: str | None) -> dict[str, str]:
    """Returns the fields that are not empty, with surrounding spaces removed except from names."""
    return {name: found for name, text in asked.items() if (found := _trimmed(name, text or ""))}


def _trimmed(name: str, text: str) -> str:
    return text if name in _NAMES else text.strip()


def filled(given: Mapping[str, Any], names: Sequence[str]) -> dict[str, str]:
    """Returns those of the named fields that are not empty."""
    return cleared(**{name: str(given.get(name) or "") for name in names})


def statuses_in(chosen: Sequence[str]) -> tuple[str, ...]:
    """Returns the selected statuses without duplicates. Raises Unreadable for an unknown status."""
    if unknown := [one for one in chosen if one not in STATUSES]:
        raise Unreadable(f"status: {unknown[0][:50]!r} is not one of {', '.join(STATUSES)}")
    return each_once(chosen)


def labels_of(asked: Mapping[str, str]) -> dict[str, str] | None:
    """Parses labels: ``name=value`` pairs, separated by commas. Raises Unreadable if the labels are invalid."""
    return labels_in([part.strip() for part in asked.get("label", "").split(",") if part.strip()])


def host_in(text: str) -> str:
    """Parses a host to filter by. Raises Unreadable if it has a port."""
    try:
        return host_alone(text)
    except InvalidInput as error:
        raise Unreadable(f"host: {error}") from None


def id_in(name: str, text: str | None) -> UUID | None:
    """Parses an id. Raises Unreadable if the text is not an id."""
    if not text:
        return None
    try:
        return UUID(text)
    except ValueError:
        raise Unreadable(f"{name}: {text[:50]!r} is not an id") from None


def whole_in(name: str, text: str | None) -> int | None:
    """Parses a whole number. Raises Unreadable for any other text."""
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= 18):
        raise Unreadable(f"{name}: {text[:50]!r} is not a whole number")
    return int(text)


def code_in(text: str) -> int:
    """Parses an HTTP status code. Raises Unreadable for any other text."""
    if not (len(text) == 3 and text.isascii() and text.isdigit() and 100 <= int(text) <= 599):
        raise Unreadable(f"status_code: {text[:50]!r} is not a status code from 100 to 599")
    return int(text)


def number_in(name: str, text: str | None, otherwise: float) -> float:
    """Parses a number, or returns ``otherwise`` for an empty field. Raises Unreadable for any other text."""
    if not text:
        return otherwise
    with suppress(ValueError):
        if isfinite(found := float(text)):
            return found
    raise Unreadable(f"{name}: {text[:50]!r} is not a number")


def instant_in(name: str, text: str | None) -> datetime | None:
    """Parses an instant, which is in UTC if it has no offset. Raises Unreadable for any other text."""
    if not text:
        return None
    try:
        found = read_instant(with_its_plus(text.strip()))
        return instant_of(found if found.utcoffset() is not None else found.replace(tzinfo=UTC), name)
    except (ValueError, InvalidSchedule):
        raise Unreadable(
            f"{name}: {text[:50]!r} is not an instant: write an instant in UTC, such as 2026-03-01T09:00"
        ) from None


_READ: Mapping[str, Callable[[str], Any]] = {
    "host": host_in,
    "job": partial(id_in, "job"),
    "from": partial(instant_in, "from"),
    "to": partial(instant_in, "to"),
    "status_code": code_in,
}
_NAMED = {"from": "start", "to": "end"}


def filter_of(kind: type[_Filter], asked: Mapping[str, str], **more: Any) -> _Filter:
    """Builds a filter of the store from the fields that are filled in. Raises Unreadable."""
    plain = {name: text for name, text in asked.items() if name != "label"}
    found = {_NAMED.get(name, name): _READ.get(name, str)(text) for name, text in plain.items()}
    return kind(**found, labels=labels_of(asked), **more)
