"""The composition root: one worker process, put together from its rooms, run, drained and taken down."""

import asyncio
import contextlib
import os
import random
import socket
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import psycopg

from pgsched.delivery.http import HttpChannel
from pgsched.delivery.pushing import pushing_channels
from pgsched.delivery.python import App, PythonChannel
from pgsched.delivery.router import Channels
from pgsched.errors import InvalidSettings
from pgsched.events import Events
from pgsched.service import Service
from pgsched.settings import Settings
from pgsched.store import workers
from pgsched.store.connect import Link
from pgsched.store.warming import warm_claims, warm_settles
from pgsched.upkeep.backfiller import Backfiller
from pgsched.upkeep.days import Days
from pgsched.upkeep.directory import Directory
from pgsched.upkeep.levels import Levels
from pgsched.upkeep.planner import Planner
from pgsched.upkeep.pulled import PulledQueues
from pgsched.upkeep.reaper import Reaper
from pgsched.upkeep.releaser import Releaser
from pgsched.upkeep.replayer import Replayer
from pgsched.upkeep.turns import Turns
from pgsched.upkeep.zones import Zones
from pgsched.worker.circuits import Circuits, Sparing
from pgsched.worker.claimer import Claimer
from pgsched.worker.clock import DatabaseClock
from pgsched.worker.completion import TransactionalCompletion
from pgsched.worker.dispatcher import Dispatcher
from pgsched.worker.fairness import Fairness
from pgsched.worker.gatekeeper import Gatekeeper
from pgsched.worker.renewer import Renewer
from pgsched.worker.roster import Roster
from pgsched.worker.settler import Settler
from pgsched.worker.sweeper import Sweeper
from pgsched.worker.waker import Waker

_HANDLER_CONNECTIONS = 10
_THREADS = "pgsched-handler"


class Worker:
    """One process's share of the work. ``start``, then ``drain``; tests drive the services by their turns instead."""

    def __init__(self, settings: Settings, *, app: App | None = None, events: Events | None = None) -> None:
        if settings.database_url is None:
            raise InvalidSettings("which database? set database_url, or PGSCHED_DATABASE_URL")
        url = settings.database_url
        self.settings, self.events, self._url = settings, events or Events(), url
        self._lease = timedelta(seconds=settings.lease)
        self.clock = DatabaseClock()
        self.roster = Roster(
            name=f"{socket.gethostname()}:{os.getpid()}", queues=settings.queue_names, lease=self._lease
        )
        # Chores are single statements and rare: they share one connection. The planner's are transactions, and renewing
        # must not wait behind a chore.
        self._chores = Link(url, "upkeep")
        self._planning, self._renewing = Link(url, "plan", raw=False), Link(url, "renew", raw=False)
        roles = ("backfill", "zones", "replay")
        self._backfilling, self._rezoning, self._replaying = (Link(url, role, raw=False) for role in roles)
        self.directory = Directory(self._chores, self.events)
        self.completion = TransactionalCompletion(url, connections=_HANDLER_CONNECTIONS)
        self._threads = ThreadPoolExecutor(max_workers=min(settings.concurrency, 64), thread_name_prefix=_THREADS)
        self.circuits = Circuits(
            self._chores,
            self.events,
            after=settings.sideline_after,
            rate=settings.recovery_rate,
            any_gates=lambda: self.gatekeeper.is_needed,
            changed=lambda: self.gatekeeper.look(),
        )
        self.settler = self._make_settler()
        self.channels = self._make_channels(app)
        self.dispatcher = Dispatcher(
            self.channels,
            self.clock,
            concurrency=settings.concurrency,
            ahead=settings.look_ahead,
            settle=self.settler.add,
            room=lambda: self.claimer.wake(),
            defaults=self.directory.defaults,
        )
        self.gatekeeper = self._make_gatekeeper()
        self.claimer = self._make_claimer()
        self.sweeper = Sweeper(self._chores, self.events, sweep=self.claimer.sweep, every=settings.poll_interval)
        self.planner = Planner(self._planning, self.events)
        self.releaser = Releaser(self._chores, self.events)
        self.levels = Levels(self._chores, self.events, worker=lambda: self.roster.number)
        self.turns = Turns(self._chores, self.events, partitions=lambda: self.roster.own)
        self.pulled = PulledQueues(
            self._chores,
            Link(url, "pulled"),
            self.events,
            lease=self._lease,
            number=lambda: self.roster.number,
            next_token=self.roster.next_token,
            now=self.clock.now,
        )
        self.zones = Zones(self._chores, self._rezoning, self.events)
        self.backfiller = Backfiller(self._chores, self._backfilling, self.events)
        self.replayer = Replayer(self._chores, self._replaying, self.events)
        self.waker = self._make_waker()
        self.renewer = Renewer(
            self._renewing,
            self.roster,
            self.dispatcher,
            self.events,
            lease=self._lease,
            declared_lost=self.waker.rejoin,
        )
        self.reaper = self._make_reaper()
        self.days = Days(self._chores, self.events, kept=settings.history_days, audit_kept=settings.audit_days)
        self._tasks: list[asyncio.Task[None]] = []
        self._settling: asyncio.Task[None] | None = None

    def _make_settler(self) -> Settler:
        return Settler(
            Link(self._url, "settle", warm=lambda new: warm_settles(new, self.roster.partitions)),
            self.clock,
            self.events,
            owner=lambda: self.roster.number,
            keeps_success=self.directory.keeps_success,
            circuits=self.circuits,
            settled=lambda id, token: self.dispatcher.settled(id, token),
            left=self._left,
            in_hand=lambda id: self.dispatcher.in_hand.get(id),
            retrying=lambda partition, delay: self.claimer.expect(partition, self.clock.now() + int(delay * 1e6)),
            returned=lambda partition, instant: self.claimer.expect(partition, instant),
            ended=lambda: self.releaser.settled(),
            batch=self.settings.batch,
            rng=random.Random(),
        )

    def _make_gatekeeper(self) -> Gatekeeper:
        return Gatekeeper(
            self._chores,
            Link(self._url, "gates"),
            self.roster,
            self.dispatcher,
            self.clock,
            self.events,
            lease=self._lease,
            is_late=self.dispatcher.is_late,
            probing=self.circuits.sent,
        )

    def _make_claimer(self) -> Claimer:
        return Claimer(
            Link(self._url, "claim", warm=lambda new: warm_claims(new, self.roster.partitions)),
            self.roster,
            self.dispatcher,
            self.clock,
            self.events,
            batch=self.settings.batch,
            lease=self._lease,
            ahead=timedelta(seconds=self.settings.look_ahead),
            poll=timedelta(seconds=self.settings.poll_interval),
            supplied=lambda: self.directory.loaded and self.gatekeeper.loaded,
            gates=self.gatekeeper,
            fairness=Fairness(
                weight=self.directory.weight,
                queue_weight=self.directory.queue_weight,
                is_wanted=lambda: self.directory.count > 1,
            ),
        )

    def _make_waker(self) -> Waker:
        return Waker(
            Link(self._url, "listen"),
            self.roster,
            self.events,
            joined=self._joined,
            expect=self.claimer.expect,
            rung=self.claimer.ring,
            changed={
                "plan": self.planner.wake,
                "clients": self.directory.wake,
                "queues": self._queues_changed,
                "release": self.releaser.look,
                "backfill": self.backfiller.wake,
                "replay": self.replayer.wake,
                "gates": self.gatekeeper.look,
            },
            stop_row=lambda id: self.renewer.doubt(id),
            listen=self.settings.notify,
        )

    def _make_reaper(self) -> Reaper:
        return Reaper(
            self._chores,
            self.events,
            lease=self._lease,
            queues=self.settings.queue_names,
            partitions=lambda: self.roster.partitions,
            seen=self._seen,
            reaped=self._reaped,
        )

    def _make_channels(self, app: App | None) -> Channels:
        http = HttpChannel(
            connections_per_host=self.settings.connections_per_host,
            concurrency=self.settings.concurrency,
            allow_private=self.settings.allow_private_targets,
            secrets=self.directory.signing_secrets,
            now=self.clock.epoch_seconds,
        )
        python = PythonChannel(app or App(), completion=self.completion, threads=self._threads)
        others = pushing_channels(self.settings, self._url, role_of=self.directory.database_role)
        return Channels(http=Sparing(http, self.circuits), python=python, others=others)

    @property
    def services(self) -> list[Service]:
        """Everything that runs in the background but the settler, which is the last to stop."""
        return [
            self.waker, self.claimer, self.sweeper, self.directory, self.planner, self.renewer, self.reaper,
            self.releaser, self.days, self.backfiller, self.replayer, self.zones, self.gatekeeper, self.turns,
            self.circuits, self.levels, self.pulled,
        ]  # fmt: skip

    async def start(self) -> None:
        """Starts the services. Returns at once; the worker registers as soon as the database answers."""
        self.dispatcher.start()
        self._settling = asyncio.create_task(self.settler.run())
        self._tasks = [asyncio.create_task(service.run()) for service in self.services]

    def _left(self, rows: Sequence[tuple[bytes, int]]) -> None:
        self.gatekeeper.left(id for id, _ in rows)
        self.circuits.forget(id for id, _ in rows)

    def _joined(self) -> None:
        self.events.emit("worker.joined", worker=self.roster.number)
        self.claimer.look()

    def _seen(self, alive: list[workers.Worker]) -> None:
        if self.roster.share(alive):
            self.claimer.reopen()

    def _queues_changed(self) -> None:
        for service in (self.reaper, self.directory, self.levels):
            service.wake()

    def _reaped(self) -> None:
        self.claimer.look()
        self.releaser.settled()

    async def drain(self) -> None:
        """Stops claiming, lets what runs finish within the limit, hands the rest back, settles all, and leaves."""
        for claiming in (self.claimer, self.gatekeeper):
            claiming.stop()
            await asyncio.wait([self._tasks[self.services.index(claiming)]], timeout=5)
        with contextlib.suppress(psycopg.Error, OSError, TimeoutError):
            async with asyncio.timeout(5):
                await self.claimer.leave_watch()
        await self.dispatcher.drain(timedelta(seconds=self.settings.drain_timeout))
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
        running = any(thread.name.startswith(_THREADS) for thread in threading.enumerate())
        return running or self.dispatcher.stragglers

    async def _leave(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.wait(self._tasks, timeout=5)
        with contextlib.suppress(psycopg.Error, OSError, TimeoutError):
            async with asyncio.timeout(5):
                await self.claimer.close()
                await self.gatekeeper.close()
                await self.pulled.close()
                if self.roster.number:
                    await workers.retire(await self._chores.get(), self.roster.number)
        own = (self._chores, self._planning, self._renewing, self._backfilling, self._rezoning, self._replaying)
        links = (self.settler.close, *(link.drop for link in own), self.waker.close)
        for close in (*links, self.completion.close, self.channels.close):
            with contextlib.suppress(psycopg.Error, OSError):
                await close()
        self._threads.shutdown(wait=False, cancel_futures=True)
