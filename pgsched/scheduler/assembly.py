"""Creates all parts of a worker; ``wiring`` connects them."""

import asyncio
import contextlib
import os
import secrets
import socket
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import psycopg

from pgsched.delivery.app import App
from pgsched.delivery.channel import Channel
from pgsched.delivery.failure_log import FailureLog
from pgsched.delivery.handler_transaction import TransactionalCompletion
from pgsched.delivery.isolated_handlers import StartChild
from pgsched.delivery.threads import Threads
from pgsched.errors import InvalidSettings
from pgsched.metrics.files import Counting, Writing
from pgsched.optional_tracing import recording
from pgsched.scheduler import wiring
from pgsched.scheduler.channels import make_channels
from pgsched.sealing import KeyRing
from pgsched.settings import Settings
from pgsched.store.admin import worker_registry
from pgsched.store.core.connect import Connection, Link, signed
from pgsched.store.core.timeline_fencing import Lineage
from pgsched.store.jobs.definition_cache import Definitions
from pgsched.store.live.warming import warm_claims, warm_settles
from pgsched.telemetry import Events
from pgsched.upkeep.failover_watch import FailoverWatch
from pgsched.upkeep.services import Upkeep
from pgsched.worker.assignment import Assignment
from pgsched.worker.circuit_breakers import Circuits
from pgsched.worker.claim.claimer import Claimer
from pgsched.worker.claim.earliest_due import EarliestDue
from pgsched.worker.claim.fairness import Fairness
from pgsched.worker.claim.listener import Listener
from pgsched.worker.claim.row_filters import RowFilters
from pgsched.worker.claim.sweeper import Sweeper
from pgsched.worker.claiming_connection import CLAIMING_PATIENCE, SURE, Claiming, ClaimingConnection
from pgsched.worker.clock import DatabaseClock
from pgsched.worker.gates.admission import Admission
from pgsched.worker.gates.capabilities import Capabilities
from pgsched.worker.gates.gate_claimer import GateClaimer
from pgsched.worker.in_hand import InHand
from pgsched.worker.known_gates import KnownGates
from pgsched.worker.known_settings import KnownSettings
from pgsched.worker.run.attempt_timeouts import AttemptTimeouts
from pgsched.worker.run.attempts import Equipment, RecordedStarts
from pgsched.worker.run.blocked_loop_stand_in import StandIn
from pgsched.worker.run.client_shares import Shares
from pgsched.worker.run.dispatcher import Dispatcher
from pgsched.worker.run.forced_exit import ProcessExit
from pgsched.worker.run.handler_reports import Reports
from pgsched.worker.run.payload_memory import Payloads
from pgsched.worker.run.renewer import Renewer
from pgsched.worker.run.watchdog import Watchdog
from pgsched.worker.settle.minute_counts import Minutes
from pgsched.worker.settle.settler import SETTLING_PATIENCE, Settler
from pgsched.worker.vault import Vault

_HANDLER_CONNECTIONS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Containment:
    """How a worker contains handlers that may end or block its process. ``start_child`` starts a child process in which
    such handlers are called. ``drain`` drains the worker's process. ``process_exit`` ends the process when it can no
    longer work, or is None if the worker must not end its process."""

    start_child: StartChild | None = None
    drain: Callable[[], None] | None = None
    process_exit: ProcessExit | None = None


NO_CONTAINMENT = Containment()


class Assembly:
    """All parts of a worker, not yet running. ``instance`` is the name of the worker's database sessions, and ``url``
    contains that name. If ``warms`` is true, statements are planned in advance. Raises InvalidSettings if a setting is
    missing or invalid."""

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
        if settings.database_url is None:
            raise InvalidSettings("database_url is missing: set it, or the environment variable PGSCHED_DATABASE_URL")
        self.settings, self.app, self.events = settings, app or App(), events or Events()
        self.containment, self._warms = containment, warms
        self.instance = secrets.token_hex(8)
        self.url = signed(settings.database_url, self.instance)
        self.lease = timedelta(seconds=settings.lease)
        self.lineage, self.links = Lineage(), list[Link]()
        self._know()
        self._deliver()
        self._settle(settler_type)
        self._run()
        self._claim()
        self.listener = Listener(
            self.link("listen"),
            self.assignment,
            self.events,
            joined=self.note_joined,
            hints=wiring.hints(self),
            listen=settings.notify,
        )
        self.writing = counting and Writing(
            self.events,
            counting,
            queue_names=lambda: self.assignment.queue_names,
            gauges=lambda: wiring.gauges(self),
        )
        wiring.connect(self)

    def link(self, role: str, **how: Any) -> Link:
        """Creates a connection for the worker. Adds it to ``links``, unless it is the listener's, which is always
        busy."""
        made = Link(self.url, role, lineage=self.lineage, **how)
        if role != "listen":
            self.links.append(made)
        return made

    def _know(self) -> None:
        """Creates the parts that cache what the worker knows about the database."""
        # Rare single statements share one connection. Renewals have another, so that they never wait for these.
        self.chores, self.renewing = self.link("upkeep"), self.link("renew")
        self.clock, self.in_hand, self.definitions = DatabaseClock(), InHand(), Definitions()
        self.vault = Vault(self.link("secrets", raw=False, seldom=True), KeyRing.parse(self.settings.secret_keys))
        self.known_settings = KnownSettings(self.chores, self.events, self.vault.open_signing)
        self.known_gates = KnownGates()
        self.circuits = Circuits(
            self.chores,
            self.events,
            self.known_gates,
            after=self.settings.sideline_after,
            rate=self.settings.recovery_rate,
        )

    def _deliver(self) -> None:
        """Creates the parts that attempts use."""
        settings, is_shared = self.settings, self.known_settings.are_several
        self.completion = TransactionalCompletion(self.url, connections=_HANDLER_CONNECTIONS, is_shared=is_shared)
        threads = min(settings.concurrency, settings.handler_threads)
        self.threads = Threads(threads, is_shared=is_shared, spent=lambda: wiring.drain_spent(self))
        self.failures = FailureLog(self.events)
        self.payloads = Payloads(self.link("payloads", seldom=True), settings.in_hand_bytes, is_shared=is_shared)
        self.beginnings = RecordedStarts(self.link("begin", seldom=True))
        self.reports = Reports(self.link("reports", raw=False, seldom=True))
        self.channels = make_channels(self)
        self.spans = recording(settings, "pgsched-worker")

    def _settle(self, settler_type: type[Settler]) -> None:
        """Creates the settler, and the upkeep services."""
        settings = self.settings
        self.assignment = Assignment(
            name=f"{socket.gethostname()}:{os.getpid()}",
            instance=self.instance,
            queues=settings.queue_names,
            lease=self.lease,
            concurrency=settings.concurrency,
            delivers=self.delivers,
        )
        self.minutes = Minutes(self.clock, self.known_settings.has_settings)
        primaries = FailoverWatch(self.events, self.url, self.lineage)
        self.upkeep = Upkeep(
            settings, self.link, self.events, self.chores, self.assignment, self.clock, self.minutes, primaries
        )
        self.settler = settler_type(
            self.link("settle", warm=self._warm(warm_settles), patience=SETTLING_PATIENCE),
            self.clock,
            self.events,
            self.known_settings,
            self.circuits,
            self.in_hand,
            self.definitions,
            batch=settings.batch,
        )

    def _run(self) -> None:
        """Creates the parts that start executions and renew their leases."""
        settings, process_exit = self.settings, self.containment.process_exit
        shares = Shares(lanes=settings.concurrency, is_wanted=self.known_settings.are_several)
        stand_in = StandIn(
            self.url,
            self.assignment,
            self.events,
            lease=self.lease,
            unanswered=lambda: [token for claiming in self.claiming for token in claiming.leases.unanswered],
            announces=settings.notify,
            longest=settings.blocked_timeout or float("inf"),
            process_exit=process_exit,
        )
        watchdog = Watchdog(self.events, stand_in=stand_in, process_exit=process_exit)
        self.dispatcher = Dispatcher(
            Equipment(
                channel=self._traced(),
                settle=self.settler.add,
                in_hand=self.in_hand,
                known_settings=self.known_settings,
                events=self.events,
                failures=self.failures,
                payloads=self.payloads,
                shares=shares,
                beginnings=self.beginnings,
                goes_on=self.threads.is_going_on,
            ),
            self.clock,
            concurrency=settings.concurrency,
            ahead=settings.look_ahead,
            sure=SURE * settings.lease,
            timeouts=AttemptTimeouts(watchdog, beaten=self.threads.beat),
        )
        self.renewer = Renewer(
            self.renewing,
            self.assignment,
            self.dispatcher,
            self.events,
            lease=self.lease,
            rejoin=self.join,
            others=self.links,
        )

    def _claim(self) -> None:
        """Creates the parts that claim executions for the dispatcher."""
        settings, assignment, clock = self.settings, self.assignment, self.clock
        self.capabilities = Capabilities(self.chores, self.events, assignment, mine=self.delivers)
        self.admission = Admission(
            assignment,
            clock,
            self.in_hand,
            known_gates=self.known_gates,
            capabilities=self.capabilities,
            circuits=self.circuits,
            known_settings=self.known_settings,
            ahead=settings.look_ahead,
        )
        self.gate_claimer = GateClaimer(
            self._leases("gates", seldom=True),
            self.dispatcher,
            self.chores,
            admission=self.admission,
            capabilities=self.capabilities,
        )
        fairness = Fairness(self.known_settings)
        self.selection = RowFilters(self.admission, fairness, self.capabilities, self.dispatcher.shares)
        earliest_due = EarliestDue(assignment, clock, ahead=round(settings.look_ahead * 1e6))
        self.sweeper = Sweeper(
            self.link("sweep"),
            self.events,
            assignment,
            clock,
            self.dispatcher,
            front=earliest_due.front,
            every=settings.poll_interval,
            selection=self.selection,
        )
        self.claimer = Claimer(
            self._leases("claim", warm=self._warm(warm_claims)),
            self.dispatcher,
            batch=settings.batch,
            poll=timedelta(seconds=settings.poll_interval),
            admission=self.admission,
            fairness=fairness,
            sweeper=self.sweeper,
            earliest_due=earliest_due,
            selection=self.selection,
        )

    @property
    def claiming(self) -> Sequence[Claiming]:
        """The services that claim."""
        return [self.claimer, self.gate_claimer]

    def delivers(self) -> frozenset[str]:
        """Returns this worker's current capabilities. The application may register more handlers later."""
        return self.app.capabilities | self.channels.capabilities

    async def join(self, connection: Connection) -> None:
        """Registers the worker, unless it is still registered."""
        await self.assignment.join(connection)
        self.note_joined()

    def note_joined(self) -> None:
        """Makes the newly registered worker look for rows."""
        self.events.emit("worker.joined", worker=self.assignment.number)
        self.claimer.look()
        self.capabilities.look()

    async def leave(self) -> None:
        """Hands back all leases, retires the worker and closes all connections. Called last, after the drain."""
        with contextlib.suppress(psycopg.Error, OSError, TimeoutError):
            async with asyncio.timeout(5):
                for claiming in self.claiming:
                    await claiming.leases.close()
                if self.assignment.number:
                    await worker_registry.retire(await self.chores.get(), self.assignment.number)
        attempts = (self.completion, self.channels, self.payloads, self.beginnings, self.reports)
        for part in (self.settler, self.listener, self.sweeper, self.upkeep, *attempts, self.vault):
            with contextlib.suppress(psycopg.Error, OSError):
                await part.close()
        self.threads.shutdown()
        if self.spans is not None:
            await asyncio.to_thread(self.spans.close)
        for link in (self.renewing, self.chores):
            with contextlib.suppress(psycopg.Error, OSError):
                await link.drop()

    def _leases(self, role: str, **how: Any) -> ClaimingConnection:
        link = self.link(role, greet=self.assignment.check_same_server, patience=CLAIMING_PATIENCE, **how)
        return ClaimingConnection(link, self.assignment, self.clock, self.events, self.definitions, self.lease)

    def _traced(self) -> Channel:
        """Returns the channels, wrapped to record attempts as spans if tracing is on."""
        if self.spans is None:
            return self.channels
        from pgsched.delivery.tracing_channel import TracingChannel  # requires OpenTelemetry

        return TracingChannel(self.channels, self.spans)

    def _warm(self, statements: Callable[..., Awaitable[None]]) -> Callable[[Connection, bool], Awaitable[None]] | None:
        """Returns a function that plans these statements when a connection is opened, or None if ``warms`` is false."""
        if not self._warms:
            return None
        return lambda connection, first: statements(connection, self.assignment.partitions, each=first)
