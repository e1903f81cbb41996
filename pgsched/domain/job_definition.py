"""The definition of a recurring job: the columns that say when it fires, whichever statement has read them."""

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
    """When a job fires, except at its ``exceptions``; ``rules`` is JSON, or what the driver made of it."""

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
        """Returns the parsed rules. Raises InvalidSchedule."""
        if self.rules is None:
            return NO_RULES
        return parse_rules(bytes(self.rules) if isinstance(self.rules, msgspec.Raw) else self.rules)

    def recurrence(self) -> Recurrence:
        """Returns the instants at which it fires. Raises InvalidSchedule."""
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
