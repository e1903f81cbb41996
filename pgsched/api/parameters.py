"""What routes are given: the database, the caller, and the parameters that several of them have."""

from typing import Annotated, Any
from uuid import UUID

from litestar import Request
from litestar.di import NamedDependency
from litestar.params import JSONBody, PathParameter, QueryParameter

from pgsched.api.bodies import Note
from pgsched.api.database import Database
from pgsched.domain.states import Sort
from pgsched.domain.target import host_alone
from pgsched.sealing import KeyRing

INSTANT = {"format": "date-time"}
"""What the description says of a parameter that is read by ``instant_of``."""
Pooled = NamedDependency[Database]
"""How a route asks for the database."""
Holders = NamedDependency[Database]
"""The same for who shows the token of an execution, which is all that is asked for: whose it is, the token says."""
Actor = NamedDependency[str]
"""The caller, for the audit log."""
Ring = NamedDependency[KeyRing | None]
"""How a route asks for the keys that seal secrets."""
Noted = JSONBody[Note | None]
JobId = Annotated[UUID, PathParameter(description="A job's id, or its key.")]
ExecutionId = Annotated[UUID, PathParameter(description="An execution's id, or its key.")]
Limit = Annotated[int, QueryParameter(name="limit", ge=1, le=500, description="Items a page.")]
After = Annotated[
    str | None,
    QueryParameter(
        name="after",
        max_length=100,
        description="next of the page before.",
        schema_extra={"pattern": "^[A-Za-z0-9_-]{22}$"},
    ),
]
Sorted = Annotated[Sort, QueryParameter(name="sort", description="Which come first, by when they were scheduled.")]
AfterName = Annotated[str | None, QueryParameter(name="after", max_length=400, description="next of the page before.")]
Client = Annotated[str | None, QueryParameter(name="client")]
OnlyClient = Annotated[str | None, QueryParameter(name="client", max_length=100, description="Only this client's.")]
Key = Annotated[str | None, QueryParameter(name="key")]
Host = Annotated[str | None, QueryParameter(name="host", description="The host of the target, at any port.")]
OfJob = Annotated[UUID | None, QueryParameter(name="job", description="Of this job.")]
Forced = Annotated[bool, QueryParameter(name="force", description="Also a job that is declared elsewhere.")]
Why = Annotated[str | None, QueryParameter(name="note", max_length=1000, description="Reason, for the audit log.")]


def actor(request: Request[Any, Any, Any]) -> str:
    """The address that a request came from; whose key it has, the audit log learns from the session."""
    return f"api {request.client.host}" if request.client else "api"


def with_its_plus(text: str) -> str:
    """An instant of a query string, where a + has become a blank."""
    return text.replace(" ", "+" if "T" in text.upper() else "T")


def host_sought(host: str | None) -> str | None:
    """Raises InvalidInput where it has a port."""
    return None if host is None else host_alone(host)


def note_in(data: Note | None) -> str | None:
    return data.note if data else None
