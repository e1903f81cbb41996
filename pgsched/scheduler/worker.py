"""Starts, drains and shuts down one worker process."""

import asyncio
import contextlib
from datetime import timedelta

import psycopg

from pgsched.delivery.app import App
from pgsched.metrics.files import Counting
from pgsched.scheduler.assembly import NO_CONTAINMENT, Assembly, Containment
from pgsched.service import Service
from pgsched.settings import Settings
from pgsched.telemetry import Events

_UNSETTLED, _WELL = 60.0, 1.0


class Worker:
    """A worker in one process. Call ``start``, and later ``drain``. Tests run turns of its ``parts`` instead."""

    def __init__(
        self,
        settings: Settings,
        *,
        app: App | None = None,
        events: Events | None = None,
        containment: Containment = NO_CONTAINMENT,
        counting: Counting | None = None,
    ) -> None:
        self.parts = Assembly(settings, app=app, events=events, containment=containment, counting=counting)
        self._tasks: list[asyncio.Task[None]] = []
        self._settling: asyncio.Task[None] | None = None

    @property
    def services(self) -> list[Service]:
        """Everything that runs in the background, except the settler, which stops last."""
        parts = self.parts
        writing = [parts.writing] if parts.writing else []
        claims = [*parts.claiming, parts.sweeper, parts.capabilities]
        knowledge = [parts.known_settings, parts.circuits, parts.renewer]
        return [parts.listener, *claims, *knowledge, *parts.upkeep.services, *writing]

    async def start(self) -> None:
        """Starts the services, and returns at once. The worker registers once the database can be reached."""
        self.parts.dispatcher.start()
        self._settling = asyncio.create_task(self.parts.settler.run())
        self._tasks = [asyncio.create_task(service.run()) for service in self.services]

    async def drain(self) -> None:
        """Stops claiming, lets running executions finish within ``drain_timeout``, hands back all others, settles all
        outcomes, and retires the worker."""
        parts, services = self.parts, self.services
        for claiming in parts.claiming:
            claiming.stop()
            await asyncio.wait([self._tasks[services.index(claiming)]], timeout=5)
        with contextlib.suppress(psycopg.Error, OSError, TimeoutError):
            async with asyncio.timeout(5):
                await parts.claimer.stop_polling()
        await parts.dispatcher.drain(timedelta(seconds=parts.settings.drain_timeout))
        for service in [*services, parts.settler]:
            service.stop()
        if self._settling:
            await asyncio.wait([self._settling], timeout=5)
            self._settling.cancel()  # from here on, only the flush below sends
            await asyncio.wait([self._settling], timeout=1)
        with contextlib.suppress(psycopg.Error, OSError, TimeoutError):
            async with asyncio.timeout(10):
                await parts.settler.flush()
                await parts.upkeep.rollups.turn()
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=5)
        await parts.leave()
        if parts.writing:
            parts.writing.write()
        parts.events.emit("worker.drained", settled=parts.settler.settled_count)

    @property
    def broken(self) -> str | None:
        """The names of parts that should run until the drain but have ended, or None if all are running.

        The settler also counts as ended if it has settled nothing for long although the database can be reached, for
        example because a handler closed the settler's sessions. While this worker renews its leases, no other worker
        delivers the rows.
        """
        settler, renewer = self.parts.settler, self.parts.renewer
        named = {service.name: task for service, task in zip(self.services, self._tasks, strict=True)}
        named |= {settler.name: self._settling} if self._settling else {}
        ended = [name for name, task in named.items() if task.done()]
        if settler.unwell_for > _UNSETTLED and renewer.unwell_for < _WELL:
            ended.append(settler.name)
        return ", ".join(ended) or ("lanes" if self.parts.dispatcher.is_broken else None)

    @property
    def has_stragglers(self) -> bool:
        """Whether handlers are still running after the drain because they could not be stopped."""
        return self.parts.threads.go_on() or self.parts.dispatcher.stragglers
