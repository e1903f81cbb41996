"""What is wrong with the installation, for administrators."""

import asyncio
import time

from litestar.di import NamedDependency

from pgsched.api.access import check_everywhere, grant_of
from pgsched.api.database import Database
from pgsched.api.requests import ApiRequest
from pgsched.api.routing import reads
from pgsched.domain.api_key import Grant
from pgsched.sealing import KeyRing
from pgsched.store.doctor.examination import examine
from pgsched.store.doctor.finding import Report

_KEPT = 10.0


class Doctor:
    """Makes one examination at a time, and gives it to all who ask within ten seconds, or take an older one.

    ``database`` acts for everybody's clients, so its reports are for those alone who administer all of them.
    """

    def __init__(self, database: Database, url: str, ring: KeyRing | None) -> None:
        self._database, self._url, self._ring = database, url, ring
        self._turn = asyncio.Lock()
        self._report: Report | None = None
        self._made_at = float("-inf")

    async def report(self, grant: Grant, *, kept: float = _KEPT) -> Report:
        """Raises Refused."""
        check_everywhere(grant)
        async with self._turn:
            if self._report is None or time.monotonic() - self._made_at > kept:
                self._report = await examine(self._database.connection, url=self._url, ring=self._ring)
                self._made_at = time.monotonic()
            return self._report


@reads("/doctor", "Check the installation", scope="admin", everywhere=True)
async def examine_all(request: ApiRequest, doctor: NamedDependency[Doctor]) -> Report:
    """Runs the checks of pgsched doctor as the API's login. status is the worst severity found: warning or error. The
    answer may be ten seconds old."""
    return await doctor.report(grant_of(request))
