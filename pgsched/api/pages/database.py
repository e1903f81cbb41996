"""*Database*: the doctor's findings, what prevents vacuuming, and the sizes of the tables."""

from typing import Any

from litestar import Response

from pgsched.api.access import grant_of
from pgsched.api.doctor import Examined
from pgsched.api.pages.rendering import html
from pgsched.api.pages.routing import shows
from pgsched.api.parameters import Pooled
from pgsched.api.request_reading import ApiRequest
from pgsched.store.doctor.long_transactions import holders
from pgsched.store.lookup.overview import days_ahead, table_sizes

PAGES_OF_CHECKS = {
    "workers": ("/workers", "Workers"),
    "releases": ("/workers", "Workers"),
    "handlers": ("/workers", "Workers"),
    "queues": ("/queues", "Queues"),
    "late": ("/executions?status=scheduled&sort=oldest", "The oldest due executions"),
    "objectives": ("/clients", "Clients"),
    "jobs": ("/jobs", "Jobs"),
    "changes": ("/bulk", "Bulk operations"),
}
"""The pages with details of findings, by the name of the check."""
_TABLES, _HOLDERS = 20, 10


@shows("/database", scope="admin", everywhere=True)
async def show_database(request: ApiRequest, doctor: Examined, database: Pooled) -> Response[Any]:
    """Shows the page. If the checks take long, the page is sent without findings, and requests them afterwards."""
    async with database.page() as connection:
        tables = await table_sizes(connection, most=_TABLES)
        held = await holders(connection, most=_HOLDERS)
        ahead, of = await days_ahead(connection)
    report = await doctor.glance(grant_of(request))
    return html(
        request, "database.html", report=report, pages=PAGES_OF_CHECKS, tables=tables, holders=held, ahead=ahead, of=of
    )
