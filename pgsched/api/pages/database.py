"""*Database*: what the doctor finds, who keeps the server from cleaning up, and what the tables take."""

from typing import Any

from litestar import Request, Response
from litestar.di import NamedDependency

from pgsched.api.access import grant_of
from pgsched.api.doctor import Doctor
from pgsched.api.pages.rendering import html
from pgsched.api.pages.routing import shows
from pgsched.api.parameters import Pooled
from pgsched.store.doctor.holding import holders
from pgsched.store.lookup.tables import days_ahead, table_sizes

_TABLES, _HOLDERS = 20, 10


@shows("/database", scope="admin", everywhere=True)
async def show_database(
    request: Request[Any, Any, Any], doctor: NamedDependency[Doctor], database: Pooled
) -> Response[Any]:
    async with database.page() as connection:
        tables = await table_sizes(connection, most=_TABLES)
        held = await holders(connection, most=_HOLDERS)
        ahead, of = await days_ahead(connection)
    report = await doctor.report(grant_of(request))
    return html(request, "database.html", report=report, tables=tables, holders=held, ahead=ahead, of=of)
