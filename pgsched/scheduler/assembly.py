"""The parts that supply a worker with rows (claims, gates, notifications, renewals), and the connections between all
parts."""

from collections.abc import Sequence
from datetime import timedelta

from pgsched.delivery.python import App
from pgsched.events import Events
from pgsched.metrics.files import Counting, Writing
from pgsched.scheduler.foundation import Containment, Foundation
from pgsched.settings import Settings
from pgsched.store.admin.workers import RegisteredWorker
from pgsched.store.core.connect import Connection, Link
from pgsched.store.live.warming import warm_claims
from pgsched.worker.claim.claimer import Claimer
from pgsched.worker.claim.fairness import Fairness
from pgsched.worker.claim.hints import Hints
from pgsched.worker.claim.horizon import Horizon
from pgsched.worker.claim.listener import Listener
from pgsched.worker.claim.selection import Selection
from pgsched.worker.claim.sweeper import Sweeper
from pgsched.worker.gates.admission import Admission
from pgsched.worker.gates.capabilities import Capabilities
from pgsched.worker.gates.gatekeeper import Gatekeeper
from pgsched.worker.leases import CLAIMING_PATIENCE, Leases
from pgsched.worker.run.renewer import Renewer


class Assembly(Foundation):
    """All parts of a worker. They do not run yet."""

    def __init__(
        self,
        settings: Settings,
        *,
        app: App | None,
        events: Events | None,
        containment: Containment,
        counting: Counting | None,
    ) -> None:
        super().__init__(settings, app=app, events=events, containment=containment, counting=counting)
        self.capabilities = Capabilities(self._chores, self.events, self.roster, mine=self._delivers)
        self.admission = Admission(
            self.roster,
            self.clock,
            self.in_hand,
            known_gates=self.known_gates,
            capabilities=self.capabilities,
            circuits=self.circuits,
            terms=self.terms,
            ahead=self.settings.look_ahead,
        )
        self.gatekeeper = self._make_gatekeeper()
        self.fairness = Fairness(self.directory)
        self.selection = Selection(self.admission, self.fairness, self.capabilities, self.dispatcher.shares)
        self.horizon = Horizon(self.roster, self.clock, ahead=round(self.settings.look_ahead * 1e6))
        self.sweeper = self._make_sweeper()
        self.claimer = self._make_claimer()
        self.renewer = Renewer(
            self._renewing,
            self.roster,
            self.dispatcher,
            self.events,
            lease=self._lease,
            rejoin=self._rejoin,
            others=self._links,
        )
        self.listener = Listener(
            self._link("listen"),
            self.roster,
            self.events,
            joined=self._joined,
            hints=self._make_hints(),
            listen=self.settings.notify,
        )
        self.writing = self._make_writing(counting) if counting else None
        self._connect()

    def _connect(self) -> None:
        """Connects the signals of the parts."""
        for expected in (self.settler.expected, self.sweeper.expected):
            expected.connect(self.claimer.expect)
        for wanted in (self.dispatcher.room, self.sweeper.has_found):
            wanted.connect(self.claimer.wake)
        self.dispatcher.unbegun.asks.connect(self.renewer.wake)
        for changed in (self.relieved, self.capabilities.changed, self.upkeep.reaper.reaped):
            changed.connect(self.claimer.look)
        self.in_hand.left.connect(self.admission.left)
        self.admission.has_news.connect(self.gatekeeper.wake)
        self.in_hand.left.connect(self.circuits.forget)
        self.circuits.changed.connect(self.gatekeeper.look)
        self.capabilities.found.connect(self.gatekeeper.feed_from)
        self.settler.held.connect(self.capabilities.note_held)
        for ended in (self.settler.ended, self.upkeep.reaper.reaped):
            ended.connect(self.upkeep.releaser.settled)
        self.upkeep.reaper.seen.connect(self._share)
        self.roster.hold_changed.connect(self._hold_changed)

    def _hold_changed(self) -> None:
        if self.roster.held is not None:
            self.dispatcher.unbegun.recall(lambda _: True)
            self.events.emit("installation.held", why=self.roster.held, then="pgsched admin recover")
        else:
            self.events.emit("installation.released")

    def _share(self, alive: Sequence[RegisteredWorker]) -> None:
        self.capabilities.note_others(alive, self.roster.number)
        if self.roster.share(alive):
            open_now = frozenset(self.roster.open)
            self.dispatcher.unbegun.recall(lambda row: row.partition not in open_now)
            self.claimer.reopen()

    def _leases(self, link: Link) -> Leases:
        return Leases(link, self.roster, self.clock, self.events, self.definitions, self._lease)

    def _make_gatekeeper(self) -> Gatekeeper:
        return Gatekeeper(
            self._leases(self._link("gates", greet=self.roster.check_in, patience=CLAIMING_PATIENCE, seldom=True)),
            self.dispatcher,
            self._chores,
            admission=self.admission,
            capabilities=self.capabilities,
        )

    def _make_sweeper(self) -> Sweeper:
        return Sweeper(
            self._link("sweep"),
            self.events,
            self.roster,
            self.clock,
            self.dispatcher,
            front=self.horizon.front,
            every=self.settings.poll_interval,
            selection=self.selection,
        )

    def _make_claimer(self) -> Claimer:
        return Claimer(
            self._leases(
                self._link("claim", greet=self.roster.check_in, warm=self._warm_claims, patience=CLAIMING_PATIENCE)
            ),
            self.dispatcher,
            batch=self.settings.batch,
            poll=timedelta(seconds=self.settings.poll_interval),
            admission=self.admission,
            fairness=self.fairness,
            sweeper=self.sweeper,
            horizon=self.horizon,
            selection=self.selection,
        )

    async def _warm_claims(self, connection: Connection, first: bool) -> None:
        await warm_claims(connection, self.roster.partitions, each=first)

    def _make_writing(self, counting: Counting) -> Writing:
        def gauges() -> dict[str, float]:
            return {
                "pgsched_worker_in_hand": len(self.in_hand),
                "pgsched_worker_capacity": self.dispatcher.capacity,
                "pgsched_worker_running": len(self.dispatcher.running),
                "pgsched_worker_room": self.dispatcher.spare,
            }

        return Writing(self.events, counting, queue_names=lambda: self.roster.queue_names, gauges=gauges)

    def _make_hints(self) -> Hints:
        return Hints(
            expect=self.claimer.expect,
            rung=self.claimer.ring,
            look=self.claimer.wake,
            changed={
                "plan": self.upkeep.planner.wake,
                "clients": self._clients_changed,
                "queues": self._queues_changed,
                "release": self.upkeep.releaser.look,
                "bulk": self.upkeep.bulk.wake,
                "gates": self.gatekeeper.look,
                "turns": self._turns_changed,
                "workers": self.upkeep.reaper.wake,
            },
            ended=self.renewer.doubt,
            now=self.clock.now,
        )

    def _clients_changed(self) -> None:
        self.directory.wake()
        self.vault.forget()

    async def _rejoin(self, connection: Connection) -> None:
        await self.roster.join(connection)
        self._joined()

    def _joined(self) -> None:
        self.events.emit("worker.joined", worker=self.roster.number)
        self.claimer.look()
        self.capabilities.look()

    def _queues_changed(self) -> None:
        for service in (self.upkeep.reaper, self.directory, self.upkeep.full_queues):
            service.wake()

    def _turns_changed(self) -> None:
        self.upkeep.stuck_keys.wake()
        self.upkeep.pulled.look()
