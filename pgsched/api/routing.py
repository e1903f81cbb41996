"""The common parts of routes: their declaration, their problems, shared parameters, pages and cursors."""

import base64
import binascii
from functools import partial
from typing import Annotated, Any, TypeVar
from uuid import UUID

from litestar import Request, Response, delete, get, patch, post, put
from litestar.di import NamedDependency
from litestar.openapi.datastructures import ResponseSpec
from litestar.params import JSONBody, PathParameter, QueryParameter

from pgsched.answers import Page
from pgsched.api.database import Database
from pgsched.api.problems import MEDIA_TYPE, Fault, Problem, Unreadable
from pgsched.api.requests import Note
from pgsched.store.lookup import rows

_Item = TypeVar("_Item")
_Method = TypeVar("_Method", delete, get, patch, post, put)

Pooled = NamedDependency[Database]
"""How a route asks for the database."""
Actor = NamedDependency[str]
"""The caller, for the audit log."""
Noted = JSONBody[Note | None]
JobId = Annotated[UUID, PathParameter(description="A job's id.")]
ExecutionId = Annotated[UUID, PathParameter(description="An execution's id.")]
Limit = Annotated[int, QueryParameter(name="limit", ge=1, le=500, description="Items a page.")]
After = Annotated[str | None, QueryParameter(name="after", max_length=100, description="next of the page before.")]
AfterName = Annotated[str | None, QueryParameter(name="after", max_length=400, description="next of the page before.")]
Client = Annotated[str | None, QueryParameter(name="client")]
OnlyClient = Annotated[str | None, QueryParameter(name="client", max_length=100, description="Only this client's.")]
Key = Annotated[str | None, QueryParameter(name="key")]
OfJob = Annotated[UUID | None, QueryParameter(name="job", description="Of this job.")]
Why = Annotated[str | None, QueryParameter(name="note", max_length=1000, description="Why, for the audit log.")]

DRY_RUN = "A dry run: only counted."
WHY = {
    400: "The request is not what this description says.",
    403: "The API's role may not do it.",
    404: "There is no such thing.",
    409: "Its state does not allow it.",
    413: "The request is over 2 MiB.",
    415: "The body is not application/json.",
    422: "The request is invalid; detail says what to write.",
    429: "As many executions wait in the queue as may. Try again after Retry-After seconds.",
    503: "The database cannot be reached, or is not migrated. Try again.",
}


def problems(*statuses: int) -> dict[int, ResponseSpec]:
    """The problem documents that a route describes: these, and those that every route may answer with."""
    return {
        status: ResponseSpec(Problem, media_type=MEDIA_TYPE, generate_examples=False, description=WHY[status])
        for status in sorted({*statuses, 400, 403, 422, 503})
    }


def _route(method: type[_Method], path: str, summary: str, *refusals: int, **more: Any) -> _Method:
    """A route; ``refusals`` are the statuses of problems that not every route has."""
    return method(path, summary=summary, **{"responses": problems(*refusals), **more})


reads = partial(_route, get)
"""A route that looks something up."""
acts = partial(_route, post, status_code=200)
"""A route that does something with what is there."""
sets = partial(_route, patch)
"""A route that changes what is named."""
replaces = partial(_route, put)
"""A route that sets all of something."""
removes = partial(_route, delete, status_code=200)
"""A route that takes something away."""


def makes(path: str, summary: str, *refusals: int, otherwise: tuple[Any, str] | None = None, **more: Any) -> post:
    """A route that makes something, and answers 201; or ``otherwise`` 200, with such an answer and for that reason."""
    responses = problems(*refusals)
    if otherwise is not None:
        kind, reason = otherwise
        responses[200] = ResponseSpec(kind, generate_examples=False, description=reason)
    return _route(post, path, summary, responses=responses, **more)


def made_at(location: str, answer: _Item) -> Response[_Item]:
    """201, and where to look up what was made."""
    return Response(answer, headers={"Location": location})


def actor(request: Request[Any, Any, Any]) -> str:
    """There is no authentication, so it is the address that a request came from."""
    return f"api {request.client.host}" if request.client else "api"


def note_in(data: Note | None) -> str | None:
    return data.note if data else None


def cursor(next: UUID | None) -> str | None:
    """The cursor that a page gives as next, and a request as after."""
    return None if next is None else base64.urlsafe_b64encode(next.bytes).decode().rstrip("=")


def position(cursor: str | None) -> UUID | None:
    """The id that a cursor stands for. Raises Unreadable for one that did not come from a page."""
    if cursor is None:
        return None
    try:
        return UUID(bytes=base64.b64decode(cursor + "==", altchars=b"-_", validate=True))
    except (ValueError, binascii.Error):
        detail = "not a cursor: copy it from next of the page before"
        raise Unreadable(f"after: {detail}", faults=[Fault(parameter="after", detail=detail)]) from None


def page(found: rows.Page[_Item]) -> Page[_Item]:
    """A page of rows as the API answers with it."""
    return Page(items=found.items, next=cursor(found.next))
