"""*Database*: what the doctor finds."""

from typing import Any

from litestar import Request, Response
from litestar.di import NamedDependency

from pgsched.api.access import grant_of
from pgsched.api.doctor import Doctor
from pgsched.api.pages.rendering import html
from pgsched.api.pages.routing import shows


@shows("/database", scope="admin", everywhere=True)
async def show_database(request: Request[Any, Any, Any], doctor: NamedDependency[Doctor]) -> Response[Any]:
    return html(request, "database.html", report=await doctor.report(grant_of(request)))
