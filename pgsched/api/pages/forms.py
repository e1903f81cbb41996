"""What forms and links send: filters, of which an empty field asks for nothing, and fields of what is to be changed."""

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
from pgsched.store.lookup.row_types import DeadLetterFilter, ExecutionFilter, JobFilter

OF_EXECUTIONS = ("client", "queue", "host", "key", "job", "label", "from", "to")
OF_LETTERS = ("client", "host", "key", "job", "label", "reason", "status_code", "target", "from", "to")
_MOST_FIELDS = 200
_READ_AT_ONCE = 65_536
_NAMES = frozenset({"client", "name", "key", "ordering_key"})
"""Fields that name something: a blank at an end may be a part of the name."""
_Struct = TypeVar("_Struct", bound=msgspec.Struct)
_Filter = TypeVar("_Filter", ExecutionFilter, DeadLetterFilter, JobFilter)
Text = Annotated[str | None, QueryParameter()]
"""A field of a filter; empty where nobody has written something."""


async def read_form(request: Request[Any, Any, Any]) -> dict[str, str]:
    """The fields of a form as it was sent; none of a body of another type. A large one is read beside the loop. Raises
    Unreadable, also for what is not UTF-8."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/x-www-form-urlencoded":
        return {}
    body = await request.body()
    if body.count(b"&") >= _MOST_FIELDS:
        raise Unreadable(f"the form has more than {_MOST_FIELDS} fields: send those that the page has", status=413)
    if len(body) <= _READ_AT_ONCE:
        return _fields(body)
    return await asyncio.to_thread(_fields, body)


def _fields(body: bytes) -> dict[str, str]:
    try:
        return dict(parse_qsl(body.decode(), keep_blank_values=True, errors="strict"))
    except UnicodeDecodeError:
        raise Unreadable("the form is not UTF-8: encode it so") from None


async def sent(request: Request[Any, Any, Any]) -> dict[str, str]:
    """The fields of a form that was sent, without blanks around what is no name. Raises Unreadable."""
    form = {name: _trimmed(name, value) for name, value in (await read_form(request)).items()}
    if any("\x00" in text for text in form.values()):
        raise Unreadable("the form contains a NUL character: leave it out", status=422)
    return form


def named(name: str, text: str | None) -> str:
    """What somebody has to have given. Raises Unreadable."""
    if not text:
        raise Unreadable(f"{name}: there is no value, give one", status=422)
    return text


def struct_of(kind: type[_Struct], form: Mapping[str, str], names: Sequence[str], *, empty: bool = True) -> _Struct:
    """These fields, as far as the form has them, as the body of a request under ``/v1``; one that is empty is null, or
    (not ``empty``) left out. Raises Unreadable."""
    given = {name: form[name] or None for name in names if name in form and (form[name] or empty)}
    try:
        return msgspec.convert(given, kind, strict=False)
    except msgspec.ValidationError as error:
        raise Unreadable(str(error).replace("`", ""), status=422) from None


def link_to(request: Request[Any, Any, Any], path: str | None = None, **changed: str | None) -> str:
    """This page with other parameters, or another one with these; what is None is left out."""
    kept = [
        (name, value) for name, value in request.query_params.multi_items() if value and name not in {*changed, "done"}
    ]
    given = [(name, value) for name, value in changed.items() if value is not None]
    return f"{path or request.url.path}?{urlencode([*kept, *given])}".removesuffix("?")


def place(request: Request[Any, Any, Any], after: str | None, next: object) -> dict[str, Any]:
    """The links to the first page of a listing, unless this is that, and to the next one, which has what comes after
    ``next``; None where nothing does."""
    first_page = link_to(request, after=None) if after else None
    return {"first_page": first_page, "more": None if next is None else link_to(request, after=str(next))}


def cleared(**asked: str | None) -> dict[str, str]:
    """What is not empty, without blanks around what is no name."""
    return {name: found for name, text in asked.items() if (found := _trimmed(name, text or ""))}


def _trimmed(name: str, text: str) -> str:
    return text if name in _NAMES else text.strip()


def filled(given: Mapping[str, Any], names: Sequence[str]) -> dict[str, str]:
    """Those of the fields that are filled in."""
    return cleared(**{name: str(given.get(name) or "") for name in names})


def statuses_in(chosen: Sequence[str]) -> tuple[str, ...]:
    """The statuses that are ticked. Raises Unreadable."""
    if unknown := [one for one in chosen if one not in STATUSES]:
        raise Unreadable(f"status: {unknown[0][:50]!r} is none of {', '.join(STATUSES)}")
    return each_once(chosen)


def labels_of(asked: Mapping[str, str]) -> dict[str, str] | None:
    """``name=value``, several of them apart by commas. Raises Unreadable."""
    return labels_in([part.strip() for part in asked.get("label", "").split(",") if part.strip()])


def host_in(text: str) -> str:
    """A host, which is looked for without a port. Raises Unreadable where there is one."""
    try:
        return host_alone(text)
    except InvalidInput as error:
        raise Unreadable(f"host: {error}") from None


def id_in(name: str, text: str | None) -> UUID | None:
    """An id that somebody has typed. Raises Unreadable."""
    if not text:
        return None
    try:
        return UUID(text)
    except ValueError:
        raise Unreadable(f"{name}: {text[:50]!r} is no id") from None


def whole_in(name: str, text: str | None) -> int | None:
    """A whole number that somebody has typed. Raises Unreadable."""
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= 18):
        raise Unreadable(f"{name}: {text[:50]!r} is no whole number")
    return int(text)


def code_in(text: str) -> int:
    """A status of HTTP that somebody has typed. Raises Unreadable."""
    if not (len(text) == 3 and text.isascii() and text.isdigit() and 100 <= int(text) <= 599):
        raise Unreadable(f"status_code: {text[:50]!r} is no status from 100 to 599")
    return int(text)


def number_in(name: str, text: str | None, otherwise: float) -> float:
    """A number that somebody has written. Raises Unreadable."""
    if not text:
        return otherwise
    with suppress(ValueError):
        if isfinite(found := float(text)):
            return found
    raise Unreadable(f"{name}: {text[:50]!r} is no number")


def instant_in(name: str, text: str | None) -> datetime | None:
    """An instant that somebody has written, in UTC where it has no offset. Raises Unreadable."""
    if not text:
        return None
    try:
        found = read_instant(with_its_plus(text.strip()))
        return instant_of(found if found.utcoffset() is not None else found.replace(tzinfo=UTC), name)
    except (ValueError, InvalidSchedule):
        raise Unreadable(f"{name}: {text[:50]!r} is no instant: write 2026-03-01T09:00, in UTC") from None


_READ: Mapping[str, Callable[[str], Any]] = {
    "host": host_in,
    "job": partial(id_in, "job"),
    "from": partial(instant_in, "from"),
    "to": partial(instant_in, "to"),
    "status_code": code_in,
}
_NAMED = {"from": "start", "to": "end"}


def filter_of(kind: type[_Filter], asked: Mapping[str, str], **more: Any) -> _Filter:
    """A filter of the store, by the fields that are filled in. Raises Unreadable."""
    plain = {name: text for name, text in asked.items() if name != "label"}
    found = {_NAMED.get(name, name): _READ.get(name, str)(text) for name, text in plain.items()}
    return kind(**found, labels=labels_of(asked), **more)
