"""Audit log methods, shared by both clients."""

from typing import TypedDict, Unpack

from pgsched.api_responses import Page
from pgsched.client.requests import Call, Id, check_names, path
from pgsched.client.sync_async_methods import method, pages
from pgsched.store.admin.audit import AuditEntry


class AuditQuery(TypedDict, total=False):
    """Filters, all of which must match; ``subject`` is the id of a job or an execution."""

    client: str | None
    subject: Id | None
    kind: str | None
    name: str | None
    action: str | None
    actor: str | None


class AuditMethods:
    """Audit log methods, shared by both clients. An API key sees only entries about its own clients."""

    @method
    def list_changes(
        self, *, limit: int = 50, after: str | int | None = None, **wanted: Unpack[AuditQuery]
    ) -> Call[Page[AuditEntry]]:
        """One page of changes, newest first: who changed what, with the old and new values."""
        check_names(wanted, AuditQuery)
        return Call("GET", path("audit"), Page[AuditEntry], query={**wanted, "limit": limit, "after": after})

    iter_changes = pages(list_changes)
