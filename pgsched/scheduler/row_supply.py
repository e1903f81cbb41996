"""What supplies a worker with rows: its claims, the gates on their way, and what tells it of news."""

from collections.abc import Sequence
from datetime import timedelta

from pgsched.scheduler.common_parts import CommonParts
from pgsched.store.admin.workers import RegisteredWorker
from pgsched.store.core.connect import Connection, Link
from pgsched.store.live.warming import warm_claims
from pgsched.worker.assignment import Assignment
from pgsched.worker.claim.claimer import Claimer
from pgsched.worker.claim.earliest_due import EarliestDue
from pgsched.worker.claim.fairness import Fairness
from pgsched.worker.claim.row_filters import RowFilters
from pgsched.worker.claim.sweeper import Sweeper
from pgsched.worker.claim_leases import CLAIMING_PATIENCE, Claiming, ClaimLeases
from pgsched.worker.gates.admission import Admission
from pgsched.worker.gates.capabilities import Capabilities
from pgsched.worker.gates.gate_claimer import GateClaimer
from pgsched.worker.run.dispatcher import Dispatcher


class RowSupply:
    """Makes the services that claim rows for the dispatcher; ``warms`` says whether their statements are planned
    beforehand."""

    def __init__(
        self,
        common: CommonParts,
        assignment: Assignment,
        dispatcher: Dispatcher,
        *,
        capabilities: Capabilities,
        warms: bool,
    ) -> None:
        settings, self._common, self._assignment, self._dispatcher = common.settings, common, assignment, dispatcher
        self.capabilities = capabilities
        self.admission = Admission(
            assignment,
            common.clock,
            common.in_hand,
            known_gates=common.known_gates,
            capabilities=capabilities,
            circuits=common.circuits,
            known_settings=common.known_settings,
            ahead=settings.look_ahead,
        )
        self.gate_claimer = GateClaimer(
            self._leases(common.link("gates", greet=assignment.check_in, patience=CLAIMING_PATIENCE, seldom=True)),
            dispatcher,
            common.chores,
            admission=self.admission,
            capabilities=capabilities,
        )
        self.fairness = Fairness(common.known_settings)
        self.selection = RowFilters(self.admission, self.fairness, capabilities, dispatcher.shares)
        self.earliest_due = EarliestDue(assignment, common.clock, ahead=round(settings.look_ahead * 1e6))
        self.sweeper = Sweeper(
            common.link("sweep"),
            common.events,
            assignment,
            common.clock,
            dispatcher,
            front=self.earliest_due.front,
            every=settings.poll_interval,
            selection=self.selection,
        )
        warm = self._warm if warms else None
        self.claimer = Claimer(
            self._leases(common.link("claim", greet=assignment.check_in, warm=warm, patience=CLAIMING_PATIENCE)),
            dispatcher,
            batch=settings.batch,
            poll=timedelta(seconds=settings.poll_interval),
            admission=self.admission,
            fairness=self.fairness,
            sweeper=self.sweeper,
            earliest_due=self.earliest_due,
            selection=self.selection,
        )
        self._connect()

    @property
    def claiming(self) -> Sequence[Claiming]:
        """The services that claim."""
        return [self.claimer, self.gate_claimer]

    def unanswered(self) -> list[int]:
        """The tokens of claims that have no answer."""
        return [token for claiming in self.claiming for token in claiming.leases.unanswered]

    def note_workers(self, alive: Sequence[RegisteredWorker]) -> None:
        """Takes what is known of the living workers."""
        self.capabilities.note_others(alive, self._assignment.number)
        if self._assignment.share(alive):
            open_now = frozenset(self._assignment.open)
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
        self.capabilities.found.connect(self.gate_claimer.feed_from)
        self._common.in_hand.left.connect(self.admission.left)
        self._common.in_hand.left.connect(self._common.circuits.forget)
        self._common.circuits.changed.connect(self.gate_claimer.look)
        self.admission.has_news.connect(self.gate_claimer.wake)

    def _leases(self, link: Link) -> ClaimLeases:
        common = self._common
        return ClaimLeases(link, self._assignment, common.clock, common.events, common.definitions, common.lease)

    async def _warm(self, connection: Connection, first: bool) -> None:
        await warm_claims(connection, self._assignment.partitions, each=first)
