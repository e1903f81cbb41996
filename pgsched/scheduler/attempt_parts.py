"""What the attempts of a worker use: channels, threads, slots, and connections for what is large or noted."""

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass

import psycopg

from pgsched.delivery.channel import Channel
from pgsched.delivery.failure_log import FailureLog
from pgsched.delivery.handler_transaction import TransactionalCompletion
from pgsched.delivery.isolation import Isolation, StartChild
from pgsched.delivery.threads import Threads
from pgsched.optional_tracing import recording
from pgsched.scheduler.channels import make_channels
from pgsched.scheduler.common_parts import CommonParts
from pgsched.worker.run.attempts import Beginnings, Equipment
from pgsched.worker.run.handler_reports import Reports
from pgsched.worker.run.payloads import Payloads
from pgsched.worker.run.process_exit import ProcessExit
from pgsched.worker.run.shares import Shares
from pgsched.worker.settle.settler import Settler

_HANDLER_CONNECTIONS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Containment:
    """How a worker contains handlers that may end or block its process: ``start_child`` starts a process in which they
    are called instead; ``drain`` drains this one; ``process_exit`` ends it where it can no longer do its work, if the
    worker may end it."""

    start_child: StartChild | None = None
    drain: Callable[[], None] | None = None
    process_exit: ProcessExit | None = None


NO_CONTAINMENT = Containment()


class AttemptParts:
    """Makes what attempts use, and closes it after the last one."""

    def __init__(self, common: CommonParts, containment: Containment) -> None:
        settings, is_shared = common.settings, common.known_settings.are_several
        self._common, self._containment = common, containment
        self.completion = TransactionalCompletion(common.url, connections=_HANDLER_CONNECTIONS, is_shared=is_shared)
        threads = min(settings.concurrency, settings.handler_threads)
        self.threads = Threads(threads, is_shared=is_shared, spent=self._spent)
        self.failures = FailureLog(common.events)
        self.payloads = Payloads(common.link("payloads", seldom=True), settings.in_hand_bytes, is_shared=is_shared)
        self.beginnings = Beginnings(common.link("begin", seldom=True))
        self.reports = Reports(common.link("reports", raw=False, seldom=True))
        start = containment.start_child
        self.channels = make_channels(
            common,
            completion=self.completion,
            threads=self.threads,
            failures=self.failures,
            reports=self.reports,
            isolation=Isolation(start, common.events, is_shared=is_shared) if start else None,
        )
        self.spans = recording(settings, "pgsched-worker")

    def capabilities(self) -> frozenset[str]:
        """What this worker can deliver at the moment; an application may register handlers later."""
        return self._common.app.capabilities | self.channels.capabilities

    def equip(self, settler: Settler, shares: Shares) -> Equipment:
        """What an attempt needs; ``settler`` takes its outcome."""
        return Equipment(
            channel=self._traced(),
            settle=settler.add,
            in_hand=self._common.in_hand,
            known_settings=self._common.known_settings,
            events=self._common.events,
            failures=self.failures,
            payloads=self.payloads,
            shares=shares,
            beginnings=self.beginnings,
            goes_on=self.threads.is_going_on,
        )

    async def close(self) -> None:
        for part in (self.completion, self.channels, self.payloads, self.beginnings, self.reports):
            with contextlib.suppress(psycopg.Error, OSError):
                await part.close()
        self.threads.shutdown()
        if self.spans is not None:
            await asyncio.to_thread(self.spans.close)

    def _traced(self) -> Channel:
        """The channels, their attempts spans of a trace where these are recorded."""
        if self.spans is None:
            return self.channels
        from pgsched.delivery.tracing_channel import TracingChannel  # with a library that nobody else needs

        return TracingChannel(self.channels, self.spans)

    def _spent(self) -> None:
        """Drains the process, because no thread is left for functions that are not async."""
        reason = "no function in a thread returns: the process drains, and its supervisor starts another"
        self._common.events.emit("slots.taken", slots=self.threads.name, most=self.threads.most, reason=reason)
        if self._containment.drain is not None:
            self._containment.drain()
