"""What supplies a worker with rows: claims, gates, notifications, renewals; put together on its foundation."""

from datetime import timedelta

from pgsched.delivery.python import App
from pgsched.events import Events
from pgsched.scheduler.foundation import Foundation, Trials
from pgsched.settings import Settings
from pgsched.store.core.connect import Connection, Link
from pgsched.store.live.warming import warm_claims
from pgsched.worker.claim.claimer import Claimer
from pgsched.worker.claim.fairness import Fairness
from pgsched.worker.claim.hints import Hints
from pgsched.worker.claim.leases import CLAIMING_PATIENCE, Leases
from pgsched.worker.claim.rear import Rear
from pgsched.worker.claim.selection import Selection
from pgsched.worker.claim.sweeper import Sweeper
from pgsched.worker.claim.waker import Waker
from pgsched.worker.gates.capabilities import Capabilities
from pgsched.worker.gates.capabilities import Host as CapabilitiesHost
from pgsched.worker.gates.gatekeeper import Gatekeeper
from pgsched.worker.renewer import Renewer
from pgsched.worker.run.trial import Trial
from pgsched.worker.run.witness import Witness


class Assembly(Foundation):
    """All parts of a worker. They do not run yet."""

    def __init__(self, settings: Settings, *, app: App | None, events: Events | None, trials: Trials) -> None:
        super().__init__(settings, app=app, events=events, trials=trials)
        self.capabilities = self._make_capabilities()
        self.gatekeeper = self._make_gatekeeper()
        self.fairness = Fairness(
            weight=self.upkeep.directory.weight,
            queue_weight=self.upkeep.directory.queue_weight,
            is_wanted=lambda: self.upkeep.directory.count > 1,
        )
        self.selection = Selection(self.gatekeeper, self.fairness, self.capabilities, self.dispatcher.shares)
        self.rear = self._make_rear()
        self.claimer = self._make_claimer()
        self.sweeper = Sweeper(self._chores, self.events, sweep=self.claimer.sweep, every=settings.poll_interval)
        self.waker = self._make_waker()
        self.renewer = Renewer(
            self._renewing,
            self.roster,
            self.dispatcher,
            self.events,
            lease=self._lease,
            rejoin=self._rejoin,
        )
        self.witness = Witness(self._chores, self.events, start=trials.start, wanted=lambda: self.capabilities.to_try)
        self.trial = self._make_trial(trials) if trials.tell else None

    def _leases(self, link: Link) -> Leases:
        return Leases(link, self.roster, self.clock, self.events, self._lease)

    def _make_capabilities(self) -> Capabilities:
        host = CapabilitiesHost(
            number=lambda: self.roster.number,
            own=lambda: self.roster.own,
            feed=lambda names: self.gatekeeper.feed_from(names),
            changed=lambda: self.claimer.look(),
        )
        return Capabilities(self._chores, self.events, mine=self._delivers, host=host)

    def _make_gatekeeper(self) -> Gatekeeper:
        return Gatekeeper(
            self._chores,
            self._leases(Link(self._url, "gates", patience=CLAIMING_PATIENCE)),
            self.roster,
            self.dispatcher,
            self.clock,
            self.events,
            capabilities=self.capabilities,
            is_late=self.dispatcher.is_late,
            probing=self.circuits.sent,
        )

    def _make_rear(self) -> Rear:
        return Rear(
            self._leases(Link(self._url, "rear", patience=CLAIMING_PATIENCE)),
            self.roster,
            self.dispatcher,
            self.clock,
            self.events,
            batch=self.settings.batch,
            gates=self.gatekeeper,
            fairness=self.fairness,
            selection=self.selection,
            expect=lambda partition, instant: self.claimer.expect(partition, instant),
        )

    def _make_claimer(self) -> Claimer:
        link = Link(
            self._url, "claim", warm=lambda new: warm_claims(new, self.roster.partitions), patience=CLAIMING_PATIENCE
        )
        return Claimer(
            self._leases(link),
            self.roster,
            self.dispatcher,
            self.clock,
            self.events,
            batch=self.settings.batch,
            ahead=self._ahead,
            poll=timedelta(seconds=self.settings.poll_interval),
            supplied=lambda: self.upkeep.directory.loaded and self.gatekeeper.loaded and self.capabilities.known,
            gates=self.gatekeeper,
            fairness=self.fairness,
            rear=self.rear,
            selection=self.selection,
        )

    def _make_trial(self, trials: Trials) -> Trial:
        assert trials.tell is not None
        assert trials.over is not None
        return Trial(
            self._leases(Link(self._url, "alone")),
            self.roster,
            self.dispatcher,
            self.clock,
            self.events,
            gates=self.gatekeeper,
            mine=self._delivers,
            supplied=lambda: self.upkeep.directory.loaded,
            tell=trials.tell,
            over=trials.over,
        )

    def _make_waker(self) -> Waker:
        return Waker(
            Link(self._url, "listen"),
            self.roster,
            self.events,
            joined=self._joined,
            hints=self._make_hints(),
            listen=self.settings.notify,
        )

    def _make_hints(self) -> Hints:
        return Hints(
            expect=self.claimer.expect,
            rung=self.claimer.ring,
            look=self.claimer.wake,
            changed={
                "plan": self.upkeep.planner.wake,
                "clients": self.upkeep.directory.wake,
                "queues": self._queues_changed,
                "release": self.upkeep.releaser.look,
                "backfill": self.upkeep.backfiller.wake,
                "replay": self.upkeep.replayer.wake,
                "gates": self.gatekeeper.look,
                "turns": self._turns_changed,
                "workers": self.upkeep.reaper.wake,
            },
            ended=lambda id: self.renewer.doubt(id),
            now=self.clock.now,
        )

    async def _rejoin(self, connection: Connection) -> None:
        await self.roster.join(connection)
        self._joined()

    def _joined(self) -> None:
        self.events.emit("worker.joined", worker=self.roster.number)
        self.claimer.look()
        self.capabilities.look()

    def _queues_changed(self) -> None:
        for service in (self.upkeep.reaper, self.upkeep.directory, self.upkeep.levels):
            service.wake()

    def _turns_changed(self) -> None:
        self.upkeep.turns.wake()
        self.upkeep.pulled.look()
