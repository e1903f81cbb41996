"""What supplies a worker with rows: its claims, the gates on their way, and what tells it of news."""

from collections.abc import Sequence
from datetime import timedelta

from pgsched.scheduler.base import Base
from pgsched.store.admin.workers import RegisteredWorker
from pgsched.store.core.connect import Connection, Link
from pgsched.store.live.warming import warm_claims
from pgsched.worker.claim.claimer import Claimer
from pgsched.worker.claim.fairness import Fairness
from pgsched.worker.claim.horizon import Horizon
from pgsched.worker.claim.selection import Selection
from pgsched.worker.claim.sweeper import Sweeper
from pgsched.worker.gates.admission import Admission
from pgsched.worker.gates.capabilities import Capabilities
from pgsched.worker.gates.gatekeeper import Gatekeeper
from pgsched.worker.leases import CLAIMING_PATIENCE, Claiming, Leases
from pgsched.worker.roster import Roster
from pgsched.worker.run.dispatcher import Dispatcher


class Supply:
    """Makes the services that claim rows for the dispatcher; ``warms`` says whether their statements are planned
    beforehand."""

    def __init__(
        self,
        base: Base,
        roster: Roster,
        dispatcher: Dispatcher,
        *,
        capabilities: Capabilities,
        warms: bool,
    ) -> None:
        settings, self._base, self._roster, self._dispatcher = base.settings, base, roster, dispatcher
        self.capabilities = capabilities
        self.admission = Admission(
            roster,
            base.clock,
            base.in_hand,
            known_gates=base.known_gates,
            capabilities=capabilities,
            circuits=base.circuits,
            directory=base.directory,
            ahead=settings.look_ahead,
        )
        self.gatekeeper = Gatekeeper(
            self._leases(base.link("gates", greet=roster.check_in, patience=CLAIMING_PATIENCE, seldom=True)),
            dispatcher,
            base.chores,
            admission=self.admission,
            capabilities=capabilities,
        )
        self.fairness = Fairness(base.directory)
        self.selection = Selection(self.admission, self.fairness, capabilities, dispatcher.shares)
        self.horizon = Horizon(roster, base.clock, ahead=round(settings.look_ahead * 1e6))
        self.sweeper = Sweeper(
            base.link("sweep"),
            base.events,
            roster,
            base.clock,
            dispatcher,
            front=self.horizon.front,
            every=settings.poll_interval,
            selection=self.selection,
        )
        warm = self._warm if warms else None
        self.claimer = Claimer(
            self._leases(base.link("claim", greet=roster.check_in, warm=warm, patience=CLAIMING_PATIENCE)),
            dispatcher,
            batch=settings.batch,
            poll=timedelta(seconds=settings.poll_interval),
            admission=self.admission,
            fairness=self.fairness,
            sweeper=self.sweeper,
            horizon=self.horizon,
            selection=self.selection,
        )
        self._connect()

    @property
    def claiming(self) -> Sequence[Claiming]:
        """The services that claim."""
        return [self.claimer, self.gatekeeper]

    def unanswered(self) -> list[int]:
        """The tokens of claims that have no answer."""
        return [token for claiming in self.claiming for token in claiming.leases.unanswered]

    def note_workers(self, alive: Sequence[RegisteredWorker]) -> None:
        """Takes what is known of the living workers."""
        self.capabilities.note_others(alive, self._roster.number)
        if self._roster.share(alive):
            open_now = frozenset(self._roster.open)
            self._dispatcher.unbegun.recall(lambda row: row.partition not in open_now)
            self.claimer.reopen()

    def joined(self) -> None:
        """Looks at everything anew: the worker has just registered."""
        self.claimer.look()
        self.capabilities.look()

    def _connect(self) -> None:
        self.sweeper.expected.connect(self.claimer.expect)
        self.sweeper.has_found.connect(self.claimer.wake)
        self._dispatcher.room.connect(self.claimer.wake)
        self.capabilities.changed.connect(self.claimer.look)
        self.capabilities.found.connect(self.gatekeeper.feed_from)
        self._base.in_hand.left.connect(self.admission.left)
        self._base.in_hand.left.connect(self._base.circuits.forget)
        self._base.circuits.changed.connect(self.gatekeeper.look)
        self.admission.has_news.connect(self.gatekeeper.wake)

    def _leases(self, link: Link) -> Leases:
        base = self._base
        return Leases(link, self._roster, base.clock, base.events, base.definitions, base.lease)

    async def _warm(self, connection: Connection, first: bool) -> None:
        await warm_claims(connection, self._roster.partitions, each=first)
