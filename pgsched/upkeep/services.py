"""Creates the services that keep the database in order. Each worker process runs all of them."""

from collections.abc import Callable
from datetime import timedelta

from pgsched.service import Service
from pgsched.settings import Settings
from pgsched.store.core.connect import Link
from pgsched.telemetry import Events
from pgsched.upkeep.bulk import Bulk
from pgsched.upkeep.dependent_releaser import DependentReleaser
from pgsched.upkeep.failover_watch import FailoverWatch
from pgsched.upkeep.first_row_planner import Planner
from pgsched.upkeep.full_queues import FullQueues
from pgsched.upkeep.pulled import PulledQueues
from pgsched.upkeep.reaper import Reaper
from pgsched.upkeep.retention import Retention
from pgsched.upkeep.rollups import Rollups
from pgsched.upkeep.stuck_keys import StuckKeys
from pgsched.upkeep.zones import Zones
from pgsched.worker.assignment import Assignment
from pgsched.worker.clock import DatabaseClock
from pgsched.worker.settle.minute_counts import Minutes


class Upkeep:
    """All upkeep services. Services that occasionally send single statements share one connection. Each service that
    plans or moves many rows in transactions has its own connection."""

    def __init__(
        self,
        settings: Settings,
        link: Callable[..., Link],
        events: Events,
        chores: Link,
        assignment: Assignment,
        clock: DatabaseClock,
        minutes: Minutes,
        primaries: FailoverWatch,
    ) -> None:
        lease = timedelta(seconds=settings.lease)
        roles = ("plan", "zones", "bulk")
        planning, rezoning, changing = (link(role, raw=False) for role in roles)
        pulling, watching = link("pulled", seldom=True), link("watch", raw=False)
        self._links = (planning, rezoning, changing, pulling, watching)
        self.reaper = Reaper(watching, chores, events, assignment, lease=settings.lease)
        self.planner = Planner(planning, events)
        self.releaser = DependentReleaser(chores, events)
        self.full_queues = FullQueues(chores, events, assignment)
        self.stuck_keys = StuckKeys(chores, events, assignment)
        self.pulled = PulledQueues(
            chores,
            pulling,
            events,
            assignment,
            clock,
            lease=lease,
            ended_by=self.reaper.detector.ended_by,
        )
        self.primaries = primaries
        self.zones = Zones(chores, rezoning, events, assignment)
        self.bulk = Bulk(chores, changing, events)
        self.rollups = Rollups(chores, events, minutes, queue_names=lambda: assignment.queue_names)
        self.retention = Retention(chores, events)

    @property
    def services(self) -> list[Service]:
        return [
            self.planner, self.reaper, self.releaser, self.retention, self.bulk,
            self.zones, self.stuck_keys, self.full_queues, self.pulled, self.rollups,
            self.primaries,
        ]  # fmt: skip

    async def close(self) -> None:
        """Drops the connections. Must be called after the last turn."""
        for link in self._links:
            await link.drop()
