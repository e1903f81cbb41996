"""The definition of a recurring job: the columns that determine when the job fires, whichever statement reads them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import msgspec

from pgsched.domain.recurrence import Recurrence, recurrence
from pgsched.domain.recurrence_rules import NO_RULES, Rules, parse_rules
from pgsched.domain.start_jitter import identity_of


@dataclass(frozen=True, kw_only=True)
class Definition:
    """The columns that determine when a job fires. The job does not fire at the instants in ``exceptions``. ``rules``
    is JSON, either as text or as decoded by the driver.
    """

    id: UUID
    client: str
    key: str | None
    cron: str | None
    timezone: str
    every: timedelta | None
    anchor: datetime | None
    gap: str
    overlap: str
    rules: Any
    exceptions: Sequence[datetime] | None = None

    @property
    def identity(self) -> str:
        return identity_of(self.client, self.key, self.id)

    def parsed(self) -> Rules:
        """Returns the parsed rules. Raises InvalidSchedule if they are invalid."""
        if self.rules is None:
            return NO_RULES
        return parse_rules(bytes(self.rules) if isinstance(self.rules, msgspec.Raw) else self.rules)

    def recurrence(self) -> Recurrence:
        """Returns the recurrence of the job. Raises InvalidSchedule if the definition is invalid."""
        return recurrence(
            cron=self.cron,
            every=self.every,
            timezone=self.timezone,
            gap=self.gap,
            overlap=self.overlap,
            anchor=self.anchor,
            identity=self.identity,
            rules=self.parsed(),
            exceptions=frozenset(self.exceptions or ()),
        )
