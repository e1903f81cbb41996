"""The composition root: one worker process, put together from its rooms, run, drained and taken down."""

import asyncio
import contextlib
import os
import random
import secrets
import socket
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta

import psycopg

from pgsched.delivery.failures import Failures
from pgsched.delivery.pushing import capabilities
from pgsched.delivery.python import App
from pgsched.delivery.router import Channels
from pgsched.delivery.threads import THREAD_NAME, Threads
from pgsched.domain.execution import Execution
from pgsched.errors import InvalidSettings
from pgsched.events import Events
from pgsched.service import Service
from pgsched.settings import Settings
from pgsched.store import workers
from pgsched.store.connect import Connection, Link, signed
from pgsched.store.warming import warm_claims, warm_settles
from pgsched.upkeep.services import Host, Upkeep
from pgsched.worker.beginnings import Beginnings
from pgsched.worker.capabilities import Capabilities
from pgsched.worker.capabilities import Host as CapabilitiesHost
from pgsched.worker.channels import make_channels
from pgsched.worker.circuits import Circuits
from pgsched.worker.claimer import Claimer
from pgsched.worker.clock import DatabaseClock
from pgsched.worker.completion import TransactionalCompletion
from pgsched.worker.dispatcher import Dispatcher
from pgsched.worker.fairness import Fairness
from pgsched.worker.gatekeeper import Gatekeeper
from pgsched.worker.hints import Hints
from pgsched.worker.leases import CLAIMING_PATIENCE, Leases
from pgsched.worker.payloads import Payloads
from pgsched.worker.rear import Rear
from pgsched.worker.renewer import Renewer
from pgsched.worker.roster import Roster
from pgsched.worker.selection import Selection
from pgsched.worker.settler import SETTLING_PATIENCE, Settler
from pgsched.worker.shares import Shares
from pgsched.worker.stand_in import StandIn
from pgsched.worker.sweeper import Sweeper
from pgsched.worker.trial import Trial
from pgsched.worker.waker import Waker
from pgsched.worker.witness import Start, Witness

_HANDLER_CONNECTIONS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Trials:
    """How a worker runs alone what may end its process: ``start`` starts a process for that. In such a process ``tell``
    is given each execution before it runs, and ``over`` is called when nothing waits for it any more."""

    start: Start | None = None
    tell: Callable[[Execution], None] | None = None
    over: Callable[[], None] | None = None


class Worker:
    """One process's share of the work. ``start``, then ``drain``; tests drive the services by their turns instead."""

    def __init__(
        self,
        settings: Settings,
        *,
        app: App | None = None,
        events: Events | None = None,
        trials: Trials = Trials(),
    ) -> None:
        if settings.database_url is None:
            raise InvalidSettings("which database? set database_url, or PGSCHED_DATABASE_URL")
        instance = secrets.token_hex(8)
        url = signed(settings.database_url, instance)
        self.settings, self.events, self._url = settings, events or Events(), url
        self._lease = timedelta(seconds=settings.lease)
        self._ahead = timedelta(seconds=settings.look_ahead)
        self.clock = DatabaseClock()
        self._app = app or App()
        fixed = capabilities(settings)
        self._delivers = lambda: self._app.capabilities | fixed
        self.roster = Roster(
            name=f"{socket.gethostname()}:{os.getpid()}",
            instance=instance,
            queues=settings.queue_names,
            lease=self._lease,
            delivers=self._delivers,
            tries=trials.start is not None,
            alone=trials.tell is not None,
        )
        # Single statements that are rare share one connection; renewing must not wait behind one of them.
        self._chores, self._renewing = Link(url, "upkeep"), Link(url, "renew", raw=False)
        self.upkeep = self._make_upkeep()
        self.completion = TransactionalCompletion(url, connections=_HANDLER_CONNECTIONS)
        self._threads = Threads(min(settings.concurrency, settings.handler_threads))
        self._failures = Failures(self.events)
        self._payloads = Payloads(Link(url, "payloads"), settings.in_hand_bytes)
        self._beginnings = Beginnings(Link(url, "begin"))
        self.circuits = self._make_circuits()
        self.settler = self._make_settler()
        self.channels = self._make_channels()
        self.dispatcher = self._make_dispatcher()
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
        self._tasks: list[asyncio.Task[None]] = []
        self._settling: asyncio.Task[None] | None = None

    def _make_upkeep(self) -> Upkeep:
        host = Host(
            number=lambda: self.roster.number,
            next_token=self.roster.next_token,
            now=self.clock.now,
            own=lambda: self.roster.own,
            minded=lambda: self.roster.minded,
            seen=self._seen,
            reaped=self._reaped,
            renew=self.roster.renew,
        )
        return Upkeep(self.settings, self._url, self.events, self._chores, host)

    def _make_circuits(self) -> Circuits:
        return Circuits(
            self._chores,
            self.events,
            after=self.settings.sideline_after,
            rate=self.settings.recovery_rate,
            any_gates=lambda: self.gatekeeper.is_needed,
            changed=lambda: self.gatekeeper.look(),
        )

    def _make_dispatcher(self) -> Dispatcher:
        return Dispatcher(
            self.channels,
            self.clock,
            concurrency=self.settings.concurrency,
            ahead=self.settings.look_ahead,
            settle=self.settler.add,
            room=lambda: self.claimer.wake(),
            defaults=self.upkeep.directory.defaults,
            events=self.events,
            failures=self._failures,
            payloads=self._payloads,
            shares=Shares(
                lanes=self.settings.concurrency,
                is_wanted=lambda: self.upkeep.directory.count > 1,
                relieved=lambda: self.claimer.look(),
            ),
            stand_in=StandIn(
                self._url,
                self.roster,
                self.events,
                lease=self._lease,
                unanswered=lambda: [token for claiming in self._claiming for token in claiming.leases.unanswered],
                announces=self.settings.notify,
            ),
            beginnings=self._beginnings,
        )

    def _make_settler(self) -> Settler:
        return Settler(
            Link(
                self._url,
                "settle",
                warm=lambda new: warm_settles(new, self.roster.partitions),
                patience=SETTLING_PATIENCE,
            ),
            self.clock,
            self.events,
            owner=lambda: self.roster.number,
            keeps_success=self.upkeep.directory.keeps_success,
            circuits=self.circuits,
            settled=lambda id, token: self.dispatcher.settled(id, token),
            left=self._left,
            apart=lambda ids: self.dispatcher.set_apart(ids),
            in_hand=lambda id: self.dispatcher.in_hand.get(id),
            retrying=lambda partition, delay: self.claimer.expect(partition, self.clock.now() + int(delay * 1e6)),
            returned=lambda partition, instant: self.claimer.expect(partition, instant),
            held=lambda gate: self.capabilities.note_held(gate),
            ended=lambda: self.upkeep.releaser.settled(),
            batch=self.settings.batch,
            rng=random.Random(),
        )

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

    def _make_channels(self) -> Channels:
        return make_channels(
            self.settings,
            self._url,
            self._app,
            secrets=self.upkeep.directory.signing_secrets,
            role_of=self.upkeep.directory.database_role,
            clock=self.clock,
            circuits=self.circuits,
            completion=self.completion,
            threads=self._threads,
            failures=self._failures,
        )

    @property
    def services(self) -> list[Service]:
        """Everything that runs in the background but the settler, which is the last to stop."""
        if self.trial is not None:
            return [self.waker, self.trial, self.renewer, self.upkeep.directory]
        supply = [self.sweeper, self.circuits, self.renewer, self.capabilities, self.witness]
        return [self.waker, *self._claiming, *supply, *self.upkeep.services]

    @property
    def _claiming(self) -> Sequence[Claimer | Rear | Gatekeeper | Trial]:
        return [self.trial] if self.trial is not None else [self.claimer, self.rear, self.gatekeeper]

    async def start(self) -> None:
        """Starts the services. Returns at once; the worker registers as soon as the database answers."""
        self.dispatcher.start()
        self._settling = asyncio.create_task(self.settler.run())
        self._tasks = [asyncio.create_task(service.run()) for service in self.services]

    def _left(self, rows: Sequence[tuple[bytes, int]]) -> None:
        self.gatekeeper.left(id for id, _ in rows)
        self.circuits.forget(id for id, _ in rows)
        if self.trial is not None:
            self.trial.wake()

    async def _rejoin(self, connection: Connection) -> None:
        await self.roster.join(connection)
        self._joined()

    def _joined(self) -> None:
        self.events.emit("worker.joined", worker=self.roster.number)
        self.claimer.look()
        self.capabilities.look()

    def _seen(self, alive: list[workers.Worker]) -> None:
        self.capabilities.note_others(alive, self.roster.number)
        if self.roster.share(alive):
            self.claimer.reopen()

    def _queues_changed(self) -> None:
        for service in (self.upkeep.reaper, self.upkeep.directory, self.upkeep.levels):
            service.wake()

    def _turns_changed(self) -> None:
        self.upkeep.turns.wake()
        self.upkeep.pulled.look()

    def _reaped(self) -> None:
        self.claimer.look()
        self.upkeep.releaser.settled()

    async def drain(self) -> None:
        """Stops claiming, lets what runs finish within the limit, hands the rest back, settles all, and leaves."""
        ending = asyncio.create_task(self.witness.end())
        for claiming in self._claiming:
            claiming.stop()
            await asyncio.wait([self._tasks[self.services.index(claiming)]], timeout=5)
        with contextlib.suppress(psycopg.Error, OSError, TimeoutError):
            async with asyncio.timeout(5):
                await self.claimer.leave_watch()
        await self.dispatcher.drain(timedelta(seconds=self.settings.drain_timeout))
        await ending
        for service in [*self.services, self.settler]:
            service.stop()
        if self._settling:
            await asyncio.wait([self._settling], timeout=5)
            self._settling.cancel()  # the flush below is the only one to send from here on
            await asyncio.wait([self._settling], timeout=1)
        with contextlib.suppress(psycopg.Error, OSError, TimeoutError):
            async with asyncio.timeout(10):
                await self.settler.flush()
        await self._leave()
        self.events.emit("worker.drained", settled=self.settler.settled_count)

    @property
    def has_stragglers(self) -> bool:
        """Whether handlers go on after the drain that cannot be ended, or do not let themselves be."""
        running = any(thread.name.startswith(THREAD_NAME) for thread in threading.enumerate())
        return running or self.dispatcher.stragglers

    async def _leave(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.wait(self._tasks, timeout=5)
        with contextlib.suppress(psycopg.Error, OSError, TimeoutError):
            async with asyncio.timeout(5):
                for claiming in self._claiming:
                    await claiming.leases.close()
                if self.roster.number:
                    await workers.retire(await self._chores.get(), self.roster.number)
        links = (self.settler.close, self._renewing.drop, self.upkeep.close, self._chores.drop, self.waker.close)
        for close in (*links, self.completion.close, self.channels.close, self._payloads.close, self._beginnings.close):
            with contextlib.suppress(psycopg.Error, OSError):
                await close()
        self._threads.shutdown()
