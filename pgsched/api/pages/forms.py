"""What forms send: filters, of which an empty field asks for nothing, and fields of what is to be changed."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, TypeVar
from urllib.parse import parse_qsl, urlencode
from uuid import UUID

import msgspec
from litestar import Request
from litestar.params import QueryParameter

from pgsched.api.problems import Unreadable

_MOST_FIELDS = 200
_READ_AT_ONCE = 65_536
_Struct = TypeVar("_Struct", bound=msgspec.Struct)

Text = Annotated[str | None, QueryParameter()]
"""A field of a filter; empty where nobody has written something."""


_NAMES = frozenset({"client", "name", "key", "ordering_key"})
"""Fields that name something: a blank at an end may be a part of the name."""


def cleared(**asked: str | None) -> dict[str, str]:
    """What is not empty, without blanks around what is no name."""
    return {name: found for name, text in asked.items() if (found := _trimmed(name, text or ""))}


def _trimmed(name: str, text: str) -> str:
    return text if name in _NAMES else text.strip()


def label_lines(text: str | None) -> list[str] | None:
    """``name=value``, several of them apart by commas."""
    return [part.strip() for part in text.split(",") if part.strip()] if text else None


def link_to(request: Request[Any, Any, Any], path: str | None = None, **changed: str | None) -> str:
    """This page with other parameters, or another one with these; what is None is left out."""
    kept = [
        (name, value) for name, value in request.query_params.multi_items() if value and name not in {*changed, "done"}
    ]
    given = [(name, value) for name, value in changed.items() if value is not None]
    return f"{path or request.url.path}?{urlencode([*kept, *given])}"


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


def field_of(form: Mapping[str, str], name: str) -> str:
    """A field that has to be filled in. Raises Unreadable."""
    return named(name, form.get(name))


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
