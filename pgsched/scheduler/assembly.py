"""The parts of a worker, and the connections between them."""

import asyncio
import contextlib
import os
import socket

import psycopg

from pgsched.delivery.python import App
from pgsched.event_emitter import Events
from pgsched.metrics.files import Counting, Writing
from pgsched.scheduler.attempt_parts import NO_CONTAINMENT, AttemptParts, Containment
from pgsched.scheduler.common_parts import CommonParts
from pgsched.scheduler.row_supply import RowSupply
from pgsched.service import Signal
from pgsched.settings import Settings
from pgsched.store.admin import workers
from pgsched.store.core.connect import Connection
from pgsched.store.live.warming import warm_settles
from pgsched.upkeep.primaries import Primaries
from pgsched.upkeep.services import Upkeep
from pgsched.worker.assignment import Assignment
from pgsched.worker.claim.listener import Hints, Listener
from pgsched.worker.claim_leases import SURE
from pgsched.worker.gates.capabilities import Capabilities
from pgsched.worker.run.blocked_loop_stand_in import StandIn
from pgsched.worker.run.dispatcher import Dispatcher
from pgsched.worker.run.lane_watchdog import LaneWatch, Watchdog
from pgsched.worker.run.renewer import Renewer
from pgsched.worker.run.shares import Shares
from pgsched.worker.settle.counting import Minutes
from pgsched.worker.settle.settler import SETTLING_PATIENCE, Settler


class Assembly:
    """All parts of a worker; they do not run yet. ``warms`` says whether statements are planned beforehand."""

    def __init__(
        self,
        settings: Settings,
        *,
        app: App | None = None,
        events: Events | None = None,
        containment: Containment = NO_CONTAINMENT,
        counting: Counting | None = None,
        settler_type: type[Settler] = Settler,
        warms: bool = True,
    ) -> None:
        self.common = common = CommonParts(settings, app=app, events=events)
        self.attempt_parts = AttemptParts(common, containment)
        self.assignment = Assignment(
            name=f"{socket.gethostname()}:{os.getpid()}",
            instance=common.instance,
            queues=settings.queue_names,
            lease=common.lease,
            concurrency=settings.concurrency,
            delivers=self.attempt_parts.capabilities,
        )
        self.minutes = Minutes(common.clock, common.known_settings.has_settings)
        primaries = Primaries(common.events, common.url, common.lineage)
        self.upkeep = Upkeep(
            settings, common.link, common.events, common.chores, self.assignment, common.clock, self.minutes, primaries
        )
        self.settler = settler_type(
            common.link("settle", warm=self._warm_settles if warms else None, patience=SETTLING_PATIENCE),
            common.clock,
            common.events,
            common.known_settings,
            common.circuits,
            common.in_hand,
            common.definitions,
            batch=settings.batch,
        )
        self.relieved: Signal[[]] = Signal()
        self.dispatcher = self._make_dispatcher(containment)
        capabilities = Capabilities(common.chores, common.events, self.assignment, mine=self.attempt_parts.capabilities)
        self.supply = RowSupply(common, self.assignment, self.dispatcher, capabilities=capabilities, warms=warms)
        self.renewer = Renewer(
            common.renewing,
            self.assignment,
            self.dispatcher,
            common.events,
            lease=common.lease,
            rejoin=self.join,
            others=common.links,
        )
        self.listener = Listener(
            common.link("listen"),
            self.assignment,
            common.events,
            joined=self._joined,
            hints=self._make_hints(),
            listen=settings.notify,
        )
        self.writing = self._make_writing(counting) if counting else None
        self._connect()

    async def join(self, connection: Connection) -> None:
        """Registers the worker, or finds that it still is."""
        await self.assignment.join(connection)
        self._joined()

    async def leave(self) -> None:
        """Gives back what is leased, retires the worker and closes all connections. For the end, after the drain."""
        with contextlib.suppress(psycopg.Error, OSError, TimeoutError):
            async with asyncio.timeout(5):
                for claiming in self.supply.claiming:
                    await claiming.leases.close()
                if self.assignment.number:
                    await workers.retire(await self.common.chores.get(), self.assignment.number)
        parts = (self.settler, self.listener, self.supply.sweeper, self.upkeep, self.attempt_parts, self.common)
        for part in parts:
            with contextlib.suppress(psycopg.Error, OSError):
                await part.close()

    def _joined(self) -> None:
        self.common.events.emit("worker.joined", worker=self.assignment.number)
        self.supply.joined()

    def _make_dispatcher(self, containment: Containment) -> Dispatcher:
        common, settings, process_exit = self.common, self.common.settings, containment.process_exit
        stand_in = StandIn(
            common.url,
            self.assignment,
            common.events,
            lease=common.lease,
            unanswered=lambda: self.supply.unanswered(),
            announces=settings.notify,
            longest=settings.blocked_timeout or float("inf"),
            process_exit=process_exit,
        )
        shares = Shares(lanes=settings.concurrency, is_wanted=common.known_settings.are_several, relieved=self.relieved)
        watchdog = Watchdog(common.events, stand_in=stand_in, process_exit=process_exit)
        return Dispatcher(
            self.attempt_parts.equip(self.settler, shares),
            common.clock,
            concurrency=settings.concurrency,
            ahead=settings.look_ahead,
            sure=SURE * settings.lease,
            watch=LaneWatch(watchdog, beaten=self.attempt_parts.threads.beat),
        )

    def _make_writing(self, counting: Counting) -> Writing:
        def gauges() -> dict[str, float]:
            return {
                "pgsched_worker_in_hand": len(self.common.in_hand),
                "pgsched_worker_capacity": self.dispatcher.capacity,
                "pgsched_worker_running": len(self.dispatcher.running),
                "pgsched_worker_room": self.dispatcher.spare,
            }

        return Writing(self.common.events, counting, queue_names=lambda: self.assignment.queue_names, gauges=gauges)

    def _make_hints(self) -> Hints:
        claimer, upkeep = self.supply.claimer, self.upkeep
        return Hints(
            expect=claimer.expect,
            often=claimer.poll,
            look=claimer.wake,
            changed={
                "plan": upkeep.planner.wake,
                "clients": self._clients_changed,
                "queues": self._queues_changed,
                "release": upkeep.releaser.look,
                "bulk": upkeep.bulk.wake,
                "gates": self.supply.gate_claimer.look,
                "turns": self._turns_changed,
                "workers": upkeep.reaper.wake,
            },
            ended=self.renewer.doubt,
            now=self.common.clock.now,
        )

    def _connect(self) -> None:
        """Connects the signals of the parts, beside those within the supply."""
        claimer, reaper = self.supply.claimer, self.upkeep.reaper
        self.settler.expected.connect(claimer.expect)
        self.settler.counted.connect(self.minutes.ended)
        self.settler.failed.connect(self.attempt_parts.failures.failed)
        self.settler.held.connect(self.supply.capabilities.note_held)
        self.dispatcher.unbegun.asks.connect(self.renewer.wake)
        for relieved in (self.relieved, reaper.reaped):
            relieved.connect(claimer.look)
        for ended in (self.settler.ended, reaper.reaped):
            ended.connect(self.upkeep.releaser.settled)
        reaper.seen.connect(self.supply.note_workers)
        self.assignment.hold_changed.connect(self._hold_changed)

    def _hold_changed(self) -> None:
        if self.assignment.held is not None:
            self.dispatcher.unbegun.recall(lambda _: True)
            self.common.events.emit("installation.held", why=self.assignment.held, then="pgsched admin recover")
        else:
            self.common.events.emit("installation.released")

    def _clients_changed(self) -> None:
        self.common.known_settings.wake()
        self.common.vault.forget()

    def _queues_changed(self) -> None:
        for service in (self.upkeep.reaper, self.common.known_settings, self.upkeep.full_queues):
            service.wake()

    def _turns_changed(self) -> None:
        self.upkeep.stuck_keys.wake()
        self.upkeep.pulled.look()

    async def _warm_settles(self, connection: Connection, first: bool) -> None:
        await warm_settles(connection, self.assignment.partitions, each=first)
