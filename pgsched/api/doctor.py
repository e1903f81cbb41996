"""The route that checks the installation, for administrators."""

from litestar.di import NamedDependency

from pgsched.api.access import grant_of
from pgsched.api.cached import Cached
from pgsched.api.connection_pool import Database
from pgsched.api.request_reading import ApiRequest
from pgsched.api.routing import reads
from pgsched.sealing import KeyRing
from pgsched.store.doctor.examination import examine
from pgsched.store.doctor.finding import Report

_KEPT = 10.0
Examined = NamedDependency[Cached[Report]]


def doctor(database: Database, url: str, ring: KeyRing | None) -> Cached[Report]:
    """Returns the doctor's reports; all requests within ten seconds share one. ``database`` acts for all clients, so
    only administrators of all clients may read the reports."""
    return Cached(lambda: examine(database.connection, url=url, ring=ring), seconds=_KEPT)


@reads("/doctor", "Check the installation", scope="admin", everywhere=True)
async def examine_all(request: ApiRequest, doctor: Examined) -> Report:
    """Runs the checks of ``pgsched doctor``. ``status`` is the worst severity. The report may be ten seconds old."""
    return await doctor.get(grant_of(request))
