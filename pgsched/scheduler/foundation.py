"""The parts of a worker that need no claim: its connections, the upkeep, and all that a claimed row passes from its
lane to its settle."""

import os
import secrets
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from pgsched.delivery.channel import Channel, Channels
from pgsched.delivery.completion import TransactionalCompletion
from pgsched.delivery.failure_log import FailureLog
from pgsched.delivery.isolation import Isolation, StartChild
from pgsched.delivery.python import App
from pgsched.delivery.threads import Threads
from pgsched.errors import InvalidSettings
from pgsched.events import Events
from pgsched.metrics.files import Counting
from pgsched.sealing import KeyRing
from pgsched.service import Signal
from pgsched.settings import Settings
from pgsched.store.core.connect import Connection, Link, signed
from pgsched.store.core.lineage import Lineage
from pgsched.store.jobs.definitions import Definitions
from pgsched.store.live.warming import warm_settles
from pgsched.tracing import Tracing
from pgsched.upkeep.primaries import Primaries
from pgsched.upkeep.services import Upkeep
from pgsched.worker.circuits import Circuits
from pgsched.worker.claim.claimer import Claimer
from pgsched.worker.clock import DatabaseClock
from pgsched.worker.directory import Directory
from pgsched.worker.gates.gatekeeper import Gatekeeper
from pgsched.worker.in_hand import InHand
from pgsched.worker.known_gates import KnownGates
from pgsched.worker.leases import SURE, Claiming
from pgsched.worker.roster import Roster
from pgsched.worker.run.attempts import Equipment
from pgsched.worker.run.beginnings import Beginnings
from pgsched.worker.run.channels import Surroundings, make_channels
from pgsched.worker.run.dispatcher import Dispatcher
from pgsched.worker.run.lane_watch import LaneWatch
from pgsched.worker.run.payloads import Payloads
from pgsched.worker.run.process_exit import ProcessExit
from pgsched.worker.run.reports import Reports
from pgsched.worker.run.shares import Shares
from pgsched.worker.run.stand_in import StandIn
from pgsched.worker.run.terms import Terms
from pgsched.worker.run.watchdog import Watchdog
from pgsched.worker.settle.minutes import Minutes
from pgsched.worker.settle.settler import SETTLING_PATIENCE, Settler
from pgsched.worker.vault import Vault

_HANDLER_CONNECTIONS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Containment:
    """How a worker contains handlers that may end or block its process: ``start_child`` starts a process in which they
    are called instead; ``drain`` drains this one; ``process_exit`` ends it where it can no longer do its work, if the
    worker may end it."""

    start_child: StartChild | None = None
    drain: Callable[[], None] | None = None
    process_exit: ProcessExit | None = None


class Foundation:
    """The parts that need no claim. ``Assembly`` adds the parts that supply them with rows."""

    claimer: Claimer
    gatekeeper: Gatekeeper
    settler_type = Settler

    def __init__(
        self,
        settings: Settings,
        *,
        app: App | None,
        events: Events | None,
        containment: Containment,
        counting: Counting | None,
    ) -> None:
        if settings.database_url is None:
            raise InvalidSettings("no database is named: set database_url, or PGSCHED_DATABASE_URL")
        instance = secrets.token_hex(8)
        self._url = signed(settings.database_url, instance)
        self._lineage, self._links = Lineage(), list[Link]()
        self.settings, self.events, self._app = settings, events or Events(), app or App()
        self._lease = timedelta(seconds=settings.lease)
        self.clock, self.in_hand, self.known_gates = DatabaseClock(), InHand(), KnownGates()
        self.definitions, self._counting = Definitions(), counting
        self.roster = self._make_roster(instance)
        # Rare single statements share one connection. Renewals have their own, so that they never wait behind one of
        # these.
        self._chores, self._renewing = self._link("upkeep"), self._link("renew", raw=False)
        self.vault = Vault(self._link("secrets", raw=False, seldom=True), KeyRing.parse(settings.secret_keys))
        self.directory = Directory(self._chores, self.events, self.vault.open_signing)
        self.minutes = Minutes(self.clock, self.directory.has_settings)
        self.upkeep = self._make_upkeep()
        self._containment = containment
        self._equip()
        self.circuits = Circuits(
            self._chores, self.events, self.known_gates, after=settings.sideline_after, rate=settings.recovery_rate
        )
        self.settler = self._make_settler()
        self.settler.counted.connect(self.minutes.ended)
        self.settler.failed.connect(self._failures.failed)
        self.channels, self.tracing = self._make_channels(), Tracing(settings, "pgsched-worker")
        self.terms = Terms(self.clock, self.directory.defaults)
        self.relieved: Signal[[]] = Signal()
        self.dispatcher = self._make_dispatcher()

    def _make_roster(self, instance: str) -> Roster:
        return Roster(
            name=f"{socket.gethostname()}:{os.getpid()}",
            instance=instance,
            queues=self.settings.queue_names,
            lease=self._lease,
            concurrency=self.settings.concurrency,
            delivers=self._delivers,
        )

    def _link(self, role: str, **how: Any) -> Link:
        """A connection of the worker. All know of it but that which listens, and so answers nobody else meanwhile."""
        made = Link(self._url, role, lineage=self._lineage, **how)
        if role != "listen":
            self._links.append(made)
        return made

    def _make_upkeep(self) -> Upkeep:
        primaries = Primaries(self.events, self._url, self._lineage)
        return Upkeep(
            self.settings, self._link, self.events, self._chores, self.roster, self.clock, self.minutes, primaries
        )

    def _equip(self) -> None:
        """Makes what attempts use."""
        settings, is_shared = self.settings, self.directory.are_several
        self.completion = TransactionalCompletion(self._url, connections=_HANDLER_CONNECTIONS, is_shared=is_shared)
        self._threads = Threads(
            min(settings.concurrency, settings.handler_threads), is_shared=is_shared, spent=self._spent
        )
        self._failures = FailureLog(self.events)
        self._payloads = Payloads(self._link("payloads", seldom=True), settings.in_hand_bytes, is_shared=is_shared)
        self._beginnings = Beginnings(self._link("begin", seldom=True))
        self._reports = Reports(self._link("reports", raw=False, seldom=True))

    def _make_dispatcher(self) -> Dispatcher:
        shares = Shares(lanes=self.settings.concurrency, is_wanted=self.directory.are_several, relieved=self.relieved)
        equipment = Equipment(
            channel=self._traced(),
            settle=self.settler.add,
            in_hand=self.in_hand,
            terms=self.terms,
            events=self.events,
            failures=self._failures,
            payloads=self._payloads,
            shares=shares,
            beginnings=self._beginnings,
            goes_on=self._threads.is_going_on,
        )
        watchdog = Watchdog(self.events, stand_in=self._make_stand_in(), process_exit=self._containment.process_exit)
        return Dispatcher(
            equipment,
            self.clock,
            concurrency=self.settings.concurrency,
            ahead=self.settings.look_ahead,
            sure=SURE * self.settings.lease,
            watch=LaneWatch(watchdog, beaten=self._threads.beat),
        )

    def _make_stand_in(self) -> StandIn:
        return StandIn(
            self._url,
            self.roster,
            self.events,
            lease=self._lease,
            unanswered=self._unanswered,
            announces=self.settings.notify,
            longest=self.settings.blocked_timeout or float("inf"),
            process_exit=self._containment.process_exit,
        )

    def _make_settler(self) -> Settler:
        return self.settler_type(
            self._link("settle", warm=self._warm_settles, patience=SETTLING_PATIENCE),
            self.clock,
            self.events,
            self.directory,
            self.circuits,
            self.in_hand,
            self.definitions,
            batch=self.settings.batch,
        )

    async def _warm_settles(self, connection: Connection, first: bool) -> None:
        await warm_settles(connection, self.roster.partitions, each=first)

    def _make_channels(self) -> Channels:
        return make_channels(
            self.settings,
            self._url,
            self._app,
            Surroundings(
                directory=self.directory,
                vault=self.vault,
                clock=self.clock,
                circuits=self.circuits,
                completion=self.completion,
                threads=self._threads,
                failures=self._failures,
                reports=self._reports,
                isolation=self._make_isolation(),
            ),
        )

    def _make_isolation(self) -> Isolation | None:
        start = self._containment.start_child
        return Isolation(start, self.events, is_shared=self.directory.are_several) if start else None

    def _traced(self) -> Channel:
        """The channels, their attempts spans of a trace where these are recorded."""
        if self.tracing.spans is None:
            return self.channels
        from pgsched.delivery.traced import Traced  # with a library that nobody else needs

        return Traced(self.channels, self.tracing.spans)

    def _delivers(self) -> frozenset[str]:
        """The capabilities of this worker at the moment; an application may register handlers later."""
        return self._app.capabilities | self.channels.capabilities

    def _spent(self) -> None:
        """Drains the process, because no thread is left for functions that are not async."""
        reason = "no function in a thread returns: the process drains, and its supervisor starts another"
        self.events.emit("places.taken", places=self._threads.name, most=self._threads.most, reason=reason)
        if self._containment.drain is not None:
            self._containment.drain()

    def _unanswered(self) -> list[int]:
        return [token for claiming in self._claiming for token in claiming.leases.unanswered]

    @property
    def _claiming(self) -> Sequence[Claiming]:
        return [self.claimer, self.gatekeeper]
