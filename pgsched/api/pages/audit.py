"""*Audit*: who changed what, and what was so before and after."""

from typing import Any

from litestar import Request, Response

from pgsched.api.pages.forms import Text, cleared, link_to, whole_in
from pgsched.api.pages.rendering import html
from pgsched.api.pages.routing import shows
from pgsched.api.parameters import Pooled
from pgsched.store.admin import audit
from pgsched.store.admin.audit import AuditFilter

_PAGE = 50


@shows("/audit", scope="admin", everywhere=True)
async def show_changes(
    request: Request[Any, Any, Any],
    database: Pooled,
    kind: Text = None,
    name: Text = None,
    action: Text = None,
    by: Text = None,
    after: Text = None,
) -> Response[Any]:
    """The newest first; ``after`` is the id of the last change on the page before."""
    asked = cleared(kind=kind, name=name, action=action, by=by)
    wanted = AuditFilter(
        kind=asked.get("kind"), name=asked.get("name"), action=asked.get("action"), actor=asked.get("by")
    )
    async with database.page() as connection:
        found = await audit.changes(connection, wanted, limit=_PAGE + 1, after=whole_in("after", after))
    rows = found[:_PAGE]
    more = link_to(request, after=str(rows[-1].id)) if len(found) > _PAGE else None
    return html(request, "audit.html", rows=rows, asked=asked, more=more, begins=not after)
