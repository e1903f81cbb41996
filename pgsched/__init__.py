"""pgsched: `at` and `cron` for a whole company, on the PostgreSQL it already runs.

These are the names that an application needs. Each is imported on first use.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from pgsched.version import __version__ as __version__

if TYPE_CHECKING:
    from pgsched.client import AsyncClient as AsyncClient
    from pgsched.client import Client as Client
    from pgsched.client import Placed as Placed
    from pgsched.client import Scheduled as Scheduled
    from pgsched.client import schedule as schedule
    from pgsched.client import schedule_async as schedule_async
    from pgsched.client import schedule_many as schedule_many
    from pgsched.client import schedule_many_async as schedule_many_async
    from pgsched.client import schedule_outcome as schedule_outcome
    from pgsched.client import schedule_outcome_async as schedule_outcome_async
    from pgsched.delivery.app import App as App
    from pgsched.delivery.exception_outcomes import Fail as Fail
    from pgsched.delivery.exception_outcomes import Retry as Retry
    from pgsched.delivery.exception_outcomes import Snooze as Snooze
    from pgsched.delivery.handler_call import Context as Context

_HOMES = {
    "App": "pgsched.delivery.app",
    "AsyncClient": "pgsched.client",
    "Client": "pgsched.client",
    "Context": "pgsched.delivery.handler_call",
    "Fail": "pgsched.delivery.exception_outcomes",
    "Placed": "pgsched.client",
    "Retry": "pgsched.delivery.exception_outcomes",
    "Scheduled": "pgsched.client",
    "Snooze": "pgsched.delivery.exception_outcomes",
    "schedule": "pgsched.client",
    "schedule_async": "pgsched.client",
    "schedule_many": "pgsched.client",
    "schedule_many_async": "pgsched.client",
    "schedule_outcome": "pgsched.client",
    "schedule_outcome_async": "pgsched.client",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
