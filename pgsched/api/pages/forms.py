"""Filters as forms send them: what was left empty is not asked for."""

from typing import Annotated, Any
from urllib.parse import urlencode
from uuid import UUID

from litestar import Request
from litestar.params import QueryParameter

from pgsched.api.problems import Unreadable

Text = Annotated[str | None, QueryParameter()]
"""A field of a filter; empty where nobody has written something."""


def cleared(**asked: str | None) -> dict[str, str]:
    """What is not empty, without blanks around it."""
    return {name: text.strip() for name, text in asked.items() if text and text.strip()}


def label_lines(text: str | None) -> list[str] | None:
    """``name=value``, several of them apart by commas."""
    return [part.strip() for part in text.split(",") if part.strip()] if text else None


def link_to(request: Request[Any, Any, Any], **changed: str | None) -> str:
    """This page with other parameters."""
    kept = [
        (name, value) for name, value in request.query_params.multi_items() if value and name not in {*changed, "done"}
    ]
    return f"{request.url.path}?{urlencode([*kept, *changed.items()])}"


def id_in(name: str, text: str | None) -> UUID | None:
    """An id that somebody has typed. Raises Unreadable."""
    if not text:
        return None
    try:
        return UUID(text)
    except ValueError:
        raise Unreadable(f"{name}: {text[:50]!r} is no id") from None
