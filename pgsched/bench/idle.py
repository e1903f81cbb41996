"""`pgsched bench idle`: what workers ask of the database while there is nothing to do."""

import time
from typing import Any

from pgsched.bench.crew import crew
from pgsched.bench.ground import ground
from pgsched.settings import Settings

_SETTLING_IN = 3


def run_idle(url: str | None, *, seconds: int, processes: int) -> dict[str, Any]:
    """Statements a second of all workers together, begin and commit counted, after they have settled in."""
    with ground(url) as own, crew(Settings(database_url=own), processes=processes) as workers:
        workers.go.set()
        time.sleep(_SETTLING_IN)
        before, started = workers.statements(), time.monotonic()
        time.sleep(seconds)
        sent, passed = workers.statements() - before, time.monotonic() - started
        workers.finish()
    return {"seconds": seconds, "processes": processes, "statements_per_second": round(sent / passed, 2)}
