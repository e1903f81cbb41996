"""What is wrong with the installation, for administrators."""

import asyncio
import time

from litestar.di import NamedDependency

from pgsched.api.access import check_everywhere, grant_of
from pgsched.api.connection_pool import Database
from pgsched.api.request_reading import ApiRequest
from pgsched.api.routing import reads
from pgsched.domain.api_key import Grant
from pgsched.sealing import KeyRing
from pgsched.store.doctor.examination import examine
from pgsched.store.doctor.finding import Report

_KEPT = 10.0
_GLANCE = 0.1


class Doctor:
    """Makes one examination at a time, and gives it to all who ask within ten seconds, or take an older one.

    ``database`` acts for everybody's clients, so its reports are for those alone who administer all of them.
    """

    def __init__(self, database: Database, url: str, ring: KeyRing | None) -> None:
        self._database, self._url, self._ring = database, url, ring
        self._examination: asyncio.Task[Report] | None = None
        self._made_at = float("-inf")

    async def report(self, grant: Grant, *, kept: float = _KEPT) -> Report:
        """The newest report, if it is no older than ``kept`` seconds, or a new one. Raises Refused."""
        check_everywhere(grant)
        return await asyncio.shield(self._made(kept))

    async def glance(self, grant: Grant, *, kept: float = _KEPT) -> Report | None:
        """The same for somebody who waits a tenth of a second at most: None if the checks take longer. They go on, and
        who asks again has their report. Raises Refused."""
        check_everywhere(grant)
        examination = self._made(kept)
        await asyncio.wait([examination], timeout=_GLANCE)
        return examination.result() if examination.done() else None

    async def stop(self) -> None:
        """Ends an examination that is under way. Nothing of it is kept: whoever starts again may have another loop."""
        under_way, self._examination = self._examination, None
        if under_way is not None and not under_way.done():
            under_way.cancel()
            await asyncio.wait([under_way])

    def _made(self, kept: float) -> asyncio.Task[Report]:
        under_way = self._examination
        if under_way is None or (under_way.done() and time.monotonic() - self._made_at > kept):
            under_way = self._examination = asyncio.create_task(self._examine())
        return under_way

    async def _examine(self) -> Report:
        report = await examine(self._database.connection, url=self._url, ring=self._ring)
        self._made_at = time.monotonic()
        return report


@reads("/doctor", "Check the installation", scope="admin", everywhere=True)
async def examine_all(request: ApiRequest, doctor: NamedDependency[Doctor]) -> Report:
    """Runs the checks of pgsched doctor as the API's login. status is the worst severity found: warning or error. The
    answer may be ten seconds old."""
    return await doctor.report(grant_of(request))
