"""What a worker stands on: its sessions, the upkeep, and the way of a claimed row from its lane to its settle."""

import os
import random
import secrets
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta

from pgsched.delivery.failures import Failures
from pgsched.delivery.pushing import capabilities
from pgsched.delivery.python import App
from pgsched.delivery.router import Channels
from pgsched.delivery.threads import Threads
from pgsched.domain.execution import Execution
from pgsched.errors import InvalidSettings
from pgsched.events import Events
from pgsched.settings import Settings
from pgsched.store.admin import workers
from pgsched.store.core.connect import Link, signed
from pgsched.store.live.warming import warm_settles
from pgsched.upkeep.services import Host, Upkeep
from pgsched.worker.claim.claimer import Claimer
from pgsched.worker.claim.rear import Rear
from pgsched.worker.clock import DatabaseClock
from pgsched.worker.gates.capabilities import Capabilities
from pgsched.worker.gates.circuits import Circuits
from pgsched.worker.gates.gatekeeper import Gatekeeper
from pgsched.worker.roster import Roster
from pgsched.worker.run.beginnings import Beginnings
from pgsched.worker.run.channels import make_channels
from pgsched.worker.run.dispatcher import Dispatcher
from pgsched.worker.run.payloads import Payloads
from pgsched.worker.run.shares import Shares
from pgsched.worker.run.stand_in import StandIn
from pgsched.worker.run.trial import Trial
from pgsched.worker.run.witness import Start
from pgsched.worker.settle.completion import TransactionalCompletion
from pgsched.worker.settle.settler import SETTLING_PATIENCE, Settler

_HANDLER_CONNECTIONS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Trials:
    """How a worker runs alone what may end its process: ``start`` starts a process for that. In such a process ``tell``
    is given each execution before it runs, and ``over`` is called when nothing waits for it any more."""

    start: Start | None = None
    tell: Callable[[Execution], None] | None = None
    over: Callable[[], None] | None = None


class Foundation:
    """The parts that need no claim. Those that supply them with rows are made later (``assembly``)."""

    capabilities: Capabilities
    gatekeeper: Gatekeeper
    claimer: Claimer
    rear: Rear
    trial: Trial | None

    def __init__(self, settings: Settings, *, app: App | None, events: Events | None, trials: Trials) -> None:
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
        self.roster = self._make_roster(instance, trials)
        # Single statements that are rare share one connection; renewing must not wait behind one of them.
        self._chores, self._renewing = Link(url, "upkeep"), Link(url, "renew", raw=False)
        self.upkeep = self._make_upkeep()
        self.completion = TransactionalCompletion(url, connections=_HANDLER_CONNECTIONS, is_shared=self._is_shared)
        self._threads = Threads(min(settings.concurrency, settings.handler_threads), is_shared=self._is_shared)
        self._failures = Failures(self.events)
        self._payloads = Payloads(Link(url, "payloads"), settings.in_hand_bytes, is_shared=self._is_shared)
        self._beginnings = Beginnings(Link(url, "begin"))
        self.circuits = self._make_circuits()
        self.settler = self._make_settler()
        self.channels = self._make_channels()
        self.dispatcher = self._make_dispatcher()

    def _make_roster(self, instance: str, trials: Trials) -> Roster:
        return Roster(
            name=f"{socket.gethostname()}:{os.getpid()}",
            instance=instance,
            queues=self.settings.queue_names,
            lease=self._lease,
            delivers=self._delivers,
            tries=trials.start is not None,
            alone=trials.tell is not None,
        )

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
                is_wanted=self._is_shared,
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
            is_shared=self._is_shared,
        )

    def _is_shared(self) -> bool:
        """Whether there are several clients."""
        return self.upkeep.directory.count > 1

    def _left(self, rows: Sequence[tuple[bytes, int]]) -> None:
        self.gatekeeper.left(id for id, _ in rows)
        self.circuits.forget(id for id, _ in rows)
        if self.trial is not None:
            self.trial.wake()

    def _seen(self, alive: list[workers.Worker]) -> None:
        self.capabilities.note_others(alive, self.roster.number)
        if self.roster.share(alive):
            self.claimer.reopen()

    def _reaped(self) -> None:
        self.claimer.look()
        self.upkeep.releaser.settled()

    @property
    def _claiming(self) -> Sequence[Claimer | Rear | Gatekeeper | Trial]:
        return [self.trial] if self.trial is not None else [self.claimer, self.rear, self.gatekeeper]
