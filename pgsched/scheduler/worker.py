"""One worker process: run, drained and taken down."""

import asyncio
import contextlib
from datetime import timedelta

import psycopg

from pgsched.delivery.python import App
from pgsched.events import Events
from pgsched.metrics.files import Counting
from pgsched.scheduler.assembly import Assembly
from pgsched.scheduler.foundation import Containment
from pgsched.service import Service
from pgsched.settings import Settings
from pgsched.store.admin import workers

_NONE = Containment()
_UNSETTLED, _WELL = 60.0, 1.0


class Worker(Assembly):
    """One process's share of the work. ``start``, then ``drain``; tests drive the services by their turns instead."""

    def __init__(
        self,
        settings: Settings,
        *,
        app: App | None = None,
        events: Events | None = None,
        containment: Containment = _NONE,
        counting: Counting | None = None,
    ) -> None:
        super().__init__(settings, app=app, events=events, containment=containment, counting=counting)
        self._tasks: list[asyncio.Task[None]] = []
        self._settling: asyncio.Task[None] | None = None

    @property
    def services(self) -> list[Service]:
        """Everything that runs in the background but the settler, which is the last to stop."""
        writing = [self.writing] if self.writing else []
        supply = [self.directory, self.circuits, self.renewer, self.capabilities]
        return [self.listener, *self._claiming, self.sweeper, *supply, *self.upkeep.services, *writing]

    async def start(self) -> None:
        """Starts the services. Returns at once; the worker registers as soon as the database answers."""
        self.dispatcher.start()
        self._settling = asyncio.create_task(self.settler.run())
        self._tasks = [asyncio.create_task(service.run()) for service in self.services]

    async def drain(self) -> None:
        """Stops claiming, lets what runs finish within the limit, hands the rest back, settles all, and leaves."""
        for claiming in self._claiming:
            claiming.stop()
            await asyncio.wait([self._tasks[self.services.index(claiming)]], timeout=5)
        with contextlib.suppress(psycopg.Error, OSError, TimeoutError):
            async with asyncio.timeout(5):
                await self.claimer.stop_polling()
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
                await self.upkeep.rollups.turn()
        await self._leave()
        if self.writing:
            self.writing.write()
        self.events.emit("worker.drained", settled=self.settler.settled_count)

    @property
    def broken(self) -> str | None:
        """The names of parts that have ended although they go on until the drain; None if none has. A settler also
        counts that has recorded nothing for long although the database can be reached: a handler may have closed its
        sessions, and while this worker renews its rows nobody else delivers them."""
        named = {service.name: task for service, task in zip(self.services, self._tasks, strict=True)}
        named |= {self.settler.name: self._settling} if self._settling else {}
        ended = [name for name, task in named.items() if task.done()]
        if self.settler.unwell_for > _UNSETTLED and self.renewer.unwell_for < _WELL:
            ended.append(self.settler.name)
        return ", ".join(ended) or ("lanes" if self.dispatcher.is_broken else None)

    @property
    def has_stragglers(self) -> bool:
        """Whether handlers go on after the drain because they cannot be ended or resist it."""
        return self._threads.go_on() or self.dispatcher.stragglers

    async def _leave(self) -> None:
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=5)
        with contextlib.suppress(psycopg.Error, OSError, TimeoutError):
            async with asyncio.timeout(5):
                for claiming in self._claiming:
                    await claiming.leases.close()
                if self.roster.number:
                    await workers.retire(await self._chores.get(), self.roster.number)
        services = (self.settler, self.listener, self.sweeper, self.upkeep)
        parts = (self.completion, self.channels, self._payloads, self._beginnings, self._reports, self.vault)
        for close in (self._renewing.drop, self._chores.drop, *(part.close for part in (*services, *parts))):
            with contextlib.suppress(psycopg.Error, OSError):
                await close()
        self._threads.shutdown()
        await asyncio.to_thread(self.tracing.close)
