"""*Audit*: who changed what, with the values before and after."""

from typing import Any

from litestar import Response

from pgsched.api.pages.forms import Text, cleared, place, whole_in
from pgsched.api.pages.rendering import html
from pgsched.api.pages.routing import shows
from pgsched.api.parameters import Pooled
from pgsched.api.request_reading import ApiRequest
from pgsched.store.admin.audit import AuditFilter
from pgsched.store.lookup import audit_pages

_PAGE = 50
_LOOKED_THROUGH = 10_000
"""The maximum number of changes that a page scans to find those to show."""


@shows("/audit", scope="admin", everywhere=True)
async def show_changes(
    request: ApiRequest,
    database: Pooled,
    kind: Text = None,
    name: Text = None,
    action: Text = None,
    by: Text = None,
    after: Text = None,
) -> Response[Any]:
    """Lists changes, newest first; ``after`` is the id of the last change on the previous page."""
    asked = cleared(kind=kind, name=name, action=action, by=by)
    wanted = AuditFilter(
        kind=asked.get("kind"), name=asked.get("name"), action=asked.get("action"), actor=asked.get("by")
    )
    how: Any = {"after": whole_in("after", after), "most": _LOOKED_THROUGH}
    async with database.page() as connection:
        found = await audit_pages.changes(connection, wanted, limit=_PAGE + 1, **how)
        rows = found[:_PAGE]
        last = rows[-1].id if len(found) > _PAGE else await audit_pages.reach(connection, wanted, **how)
    return html(request, "audit.html", rows=rows, asked=asked, **place(request, after, last))
