"""Dependencies, parameters, parts of request bodies, and pages of results that several routes share."""

import base64
import binascii
from datetime import datetime
from typing import Annotated, Any, TypeVar
from uuid import UUID

import msgspec
from litestar import Request
from litestar.di import NamedDependency
from litestar.params import JSONBody, PathParameter, QueryParameter
from msgspec import UNSET, Meta

from pgsched.api.connection_pool import Database
from pgsched.api.problems import Fault, Unreadable
from pgsched.api_responses import Page
from pgsched.domain.schedule import instant_of
from pgsched.domain.states import Sort
from pgsched.domain.target import host_alone
from pgsched.errors import InvalidSchedule
from pgsched.sealing import KeyRing
from pgsched.store.lookup.clauses import SortOrder
from pgsched.store.lookup.row_types import RowPage

_Item = TypeVar("_Item")
Instant = Annotated[str, Meta(description="RFC 3339, with an offset.", examples=["2026-03-01T09:00:00+01:00"])]
Duration = Annotated[str, Meta(description="ISO 8601 (PT1H30M, P1D) or short (1h30m, 90s, 250ms).", examples=["PT10M"])]
Weight = Annotated[int, Meta(ge=1, le=100, description="Weight when workers are saturated; the default is 1.")]
Defaults = Annotated[
    dict[str, Any],
    Meta(description="Defaults for options that an execution does not set: timeout, max_attempts, headers, …"),
]
INSTANT = {"format": "date-time"}
"""The additional schema of a parameter that ``instant_of`` parses."""
Pooled = NamedDependency[Database]
"""Injects the database, acting for the caller's clients."""
Holders = NamedDependency[Database]
"""Injects the database, acting for all clients, into routes that need only an execution's token."""
Actor = NamedDependency[str]
"""The caller, for the audit log."""
Ring = NamedDependency[KeyRing | None]
"""Injects the keys that seal secrets."""


class Note(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The reason for the change, which is shown with the paused object and in the audit log."""

    note: Annotated[str, Meta(max_length=1000)] | None = None


class ChangedSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings of a client or a queue. Only the given settings change; null restores the default."""

    def changes(self) -> dict[str, Any]:
        """The changes, keyed by the parameter names of the database functions."""
        given = {name: getattr(self, name) for name in self.__struct_fields__ if name != "name"}
        return {name: value for name, value in given.items() if value is not UNSET}


Noted = JSONBody[Note | None]
JobId = Annotated[UUID, PathParameter(description="A job's id, or its key.")]
ExecutionId = Annotated[UUID, PathParameter(description="An execution's id, or its key.")]
Limit = Annotated[int, QueryParameter(name="limit", ge=1, le=500, description="Items per page.")]
After = Annotated[
    str | None,
    QueryParameter(
        name="after",
        max_length=100,
        description="Cursor: the value of next from the previous page.",
        schema_extra={"pattern": "^[A-Za-z0-9_-]{22}$"},
    ),
]
Sorted = Annotated[Sort, QueryParameter(name="sort", description="Sort order, by the time of scheduling.")]
AfterName = Annotated[
    str | None,
    QueryParameter(name="after", max_length=400, description="Cursor: the value of next from the previous page."),
]
Client = Annotated[str | None, QueryParameter(name="client")]
OnlyClient = Annotated[str | None, QueryParameter(name="client", max_length=100, description="Only this client.")]
Key = Annotated[str | None, QueryParameter(name="key")]
Host = Annotated[str | None, QueryParameter(name="host", description="The target's host, on any port.")]
OfJob = Annotated[UUID | None, QueryParameter(name="job", description="Only this job.")]
Forced = Annotated[bool, QueryParameter(name="force", description="Change the job even if it is declared elsewhere.")]
Why = Annotated[str | None, QueryParameter(name="note", max_length=1000, description="Reason, for the audit log.")]
Labels = Annotated[
    list[str] | None,
    QueryParameter(
        name="label",
        description="NAME=TEXT, such as team=payments. If repeated, all must match.",
        schema_extra={"items": {"type": "string", "pattern": "^[^=]+="}},
    ),
]


def actor(request: Request[Any, Any, Any]) -> str:
    """Names the caller of a request by its address. The audit log gets the key's subject from the session."""
    return f"api {request.client.host}" if request.client else "api"


def with_its_plus(text: str) -> str:
    """Restores the + of an instant in a query string, which was decoded as a space."""
    return text.replace(" ", "+" if "T" in text.upper() else "T")


def bound(name: str, text: str | None) -> datetime | None:
    """Parses an instant from the query string. Raises Unreadable if the text is not an instant."""
    if text is None:
        return None
    try:
        return instant_of(with_its_plus(text), name)
    except InvalidSchedule as error:
        raise Unreadable(str(error), faults=[Fault(parameter=name, detail=str(error))]) from None


def host_sought(host: str | None) -> str | None:
    """Parses a host to filter by. Raises InvalidInput if it has a port."""
    return None if host is None else host_alone(host)


def labels_in(given: list[str] | None) -> dict[str, str] | None:
    """Parses labels given as ``NAME=TEXT``. Raises Unreadable if the labels are invalid."""
    found = dict[str, str]()
    for item in given or ():
        name, equals, text = item.partition("=")
        if not (name and equals):
            raise Unreadable.parameter("label", "write NAME=TEXT, such as label=team=payments")
        if name in found:
            detail = f"the label {name[:80]} is given twice, but can have only one value; give the label once"
            raise Unreadable.parameter("label", detail, status=422)
        found[name] = text
    return found or None


def note_in(data: Note | None) -> str | None:
    return data.note if data else None


def cursor(next: UUID | None) -> str | None:
    """Returns the cursor of the next page, which the response contains as ``next``."""
    return None if next is None else base64.urlsafe_b64encode(next.bytes).decode().rstrip("=")


def position(cursor: str | None) -> UUID | None:
    """Returns the id in a cursor. Raises Unreadable if the text is not a cursor."""
    if cursor is None:
        return None
    try:
        return UUID(bytes=base64.b64decode(cursor + "==", altchars=b"-_", validate=True))
    except (ValueError, binascii.Error):
        raise Unreadable.parameter("after", "not a cursor; copy the value of next from the previous page") from None


def listing(limit: int, after: str | None, sort: Sort) -> dict[str, Any]:
    """Converts a route's parameters to arguments for the store's listings."""
    return {"limit": limit, "after": position(after), "order": SortOrder(sort)}


def page(found: RowPage[_Item]) -> Page[_Item]:
    """Converts a page of the store to a page of the API."""
    return Page(items=found.items, next=cursor(found.next))
