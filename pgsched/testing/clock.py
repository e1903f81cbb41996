"""Time that is travelled in.

All of pgsched asks ``pgsched.now()`` for the time. So a test replaces that function, in its own database, by one that
answers with an instant; every session sees it as soon as that is committed. Nothing else goes by that clock:
PostgreSQL's own ``now()`` and Python's clocks stay as they are.
"""

from datetime import datetime, timedelta
from typing import Any

import psycopg
from psycopg import sql

from pgsched.domain.duration import length_of
from pgsched.domain.schedule import instant_of
from pgsched.store import verbs
from pgsched.store.core.sql import statement

Session = psycopg.Connection[tuple[Any, ...]]


class Clock:
    """The clock of a database, by a session in autocommit of a role that owns pgsched there."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def now(self) -> datetime:
        [found] = self._session.execute(verbs.now.text()).fetchone() or (None,)
        assert isinstance(found, datetime)
        return found

    def travel_to(self, instant: datetime | str) -> datetime:
        """Stops the clock at an instant, later or earlier than now. Raises InvalidSchedule for one without an offset,
        and psycopg.errors.InsufficientPrivilege for a role that does not own pgsched."""
        at = instant_of(instant, "instant")
        self._session.execute(sql.SQL(statement("testing/set_clock")).format(sql.Literal(at.isoformat())))
        return at

    def advance(self, by: timedelta | str) -> datetime:
        """Stops the clock so much later than now."""
        return self.travel_to(self.now() + length_of(by))

    def restore(self) -> None:
        """Has the clock go on as PostgreSQL's does, from where that one is."""
        self._session.execute(statement("testing/restore_clock"))

    @property
    def stands_still(self) -> bool:
        [found] = self._session.execute(statement("testing/clock_stands_still")).fetchone() or (False,)
        return bool(found)
