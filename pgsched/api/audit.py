"""The route for the audit log. A key sees only entries of its own clients; administrators see all entries."""

from typing import Annotated
from uuid import UUID

from litestar.params import QueryParameter

from pgsched.api.parameters import Limit, OnlyClient, Pooled
from pgsched.api.routing import reads
from pgsched.api_responses import Page, page_of
from pgsched.store.admin.audit import AuditEntry, AuditFilter
from pgsched.store.lookup import audit_pages

_Subject = Annotated[UUID | None, QueryParameter(name="subject", description="Only changes to this job or execution.")]
_Kind = Annotated[
    str | None,
    QueryParameter(name="kind", max_length=100, description="Only changes to objects of this kind, such as client."),
]
_Name = Annotated[
    str | None, QueryParameter(name="name", max_length=400, description="Only changes to the object with this name.")
]
_Action = Annotated[
    str | None,
    QueryParameter(name="action", max_length=100, description="Only changes with this action, such as pause."),
]
_By = Annotated[
    str | None,
    QueryParameter(name="actor", max_length=200, description="Only changes by this actor or authenticated subject."),
]
_Before = Annotated[
    int | None,
    QueryParameter(name="after", ge=1, le=2**63 - 1, description="Cursor: the value of next from the previous page."),
]


@reads("/audit", "List changes")
async def list_changes(
    database: Pooled,
    client: OnlyClient = None,
    subject: _Subject = None,
    kind: _Kind = None,
    name: _Name = None,
    action: _Action = None,
    by: _By = None,
    limit: Limit = 50,
    after: _Before = None,
) -> Page[AuditEntry]:
    """Returns one page, newest first: who changed what, with the values before and after. A key sees only changes that
    concern its clients. Changes that concern no client, or several, are shown only to a key for all clients with the
    scope admin."""
    own = database.grant.clients
    if client is None and own is not None and len(own) == 1:
        [client] = own  # so that an index is used, and other clients' entries need not be skipped
    wanted = AuditFilter(client=client, subject=subject, kind=kind, name=name, action=action, actor=by)
    async with database.page() as connection:
        found = await audit_pages.changes(connection, wanted, limit=limit + 1, after=after)
    return page_of(found, limit, lambda row: row.id)
