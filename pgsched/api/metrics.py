"""The route for Prometheus: metrics of this process and, from the database, of the installation."""

import asyncio

import psycopg
from litestar import Response
from litestar.di import NamedDependency
from litestar.openapi.datastructures import ResponseSpec

from pgsched.api.access import grant_of
from pgsched.api.cached import GLANCE, Cached
from pgsched.api.connection_pool import Database
from pgsched.api.middleware import RequestCounts
from pgsched.api.request_reading import ApiRequest
from pgsched.api.routing import problems, reads
from pgsched.domain.api_key import EVERYBODY, Grant
from pgsched.errors import PgschedError
from pgsched.metrics.counts import Counts
from pgsched.metrics.database import add_findings, measured
from pgsched.metrics.exposition import CONTENT_TYPE, page
from pgsched.metrics.objectives import Objectives
from pgsched.store.doctor.finding import Report

_KEPT, _FINDINGS_KEPT, _LONGEST = 5.0, 60.0, 5.0  # seconds


class Metrics:
    """Collects the metrics, at most once every five seconds for all scrapers. Runs the doctor's checks once a minute.

    ``database`` acts for all clients, so only keys for all clients may read the metrics.
    """

    def __init__(self, database: Database, doctor: Cached[Report], requests: RequestCounts) -> None:
        self._database, self._doctor, self._requests = database, doctor, requests
        self._objectives = Objectives()
        self._values = Cached(self._ask, seconds=_KEPT)
        self._report: Report | None = None

    async def page(self, grant: Grant) -> bytes:
        """Returns the metrics page. Raises Refused."""
        found = Counts()
        found.add(self._requests.counts)
        found.add(await self._values.get(grant))
        return page(found)

    async def _ask(self) -> Counts:
        """Collects all metrics or, if the database fails, only ``pgsched_database_up`` with the value 0."""
        found = Counts()
        try:
            async with asyncio.timeout(_LONGEST), self._database.connection() as connection, connection.transaction():
                await measured(connection, found)
                await self._objectives.add(connection, found)
        except (psycopg.Error, PgschedError, OSError, TimeoutError):
            found = Counts()
            found.count(0, "pgsched_database_up")
            return found
        found.count(1, "pgsched_database_up")
        await self._add_findings(found)
        return found

    async def _add_findings(self, found: Counts) -> None:
        """Adds the doctor's findings; while the checks run again, adds the previous findings. On a server in trouble,
        the checks can take longer than a scrape waits, and a failed scrape would reset an alert."""
        within = _LONGEST if self._report is None else GLANCE
        self._report = await self._doctor.glance(EVERYBODY, kept=_FINDINGS_KEPT, within=within) or self._report
        if self._report:
            add_findings(self._report, found)


@reads(
    "/metrics",
    "Get metrics for Prometheus",
    everywhere=True,
    responses={200: ResponseSpec(str, media_type="text/plain", generate_examples=False), **problems()},
)
async def show_metrics(request: ApiRequest, metrics: NamedDependency[Metrics]) -> Response[bytes]:
    """Returns counts of the requests to this process, and the state of all queues, in the Prometheus text format."""
    return Response(await metrics.page(grant_of(request)), media_type=CONTENT_TYPE)
