"""Applies a policy to a held installation before its workers continue. Used by the command line and the REST API."""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from math import inf
from types import SimpleNamespace
from typing import Any

from psycopg import AsyncConnection

from pgsched.errors import Conflict
from pgsched.store import internal_verbs, verbs
from pgsched.store.bulk import advancing, starting
from pgsched.store.bulk.operation_types import BulkAsked
from pgsched.store.core.new_connection import Lend
from pgsched.store.core.query import rows
from pgsched.store.lookup import bulk_pages
from pgsched.store.lookup.filters import ExecutionFilter

_UNDONE = ("scheduled", "retrying", "running")
_CANCELLED_A_SECOND, _MOMENT = 100_000, 0.05
_MOVED_AT_ONCE = 5_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleasedInstallation:
    """How many executions were cancelled (``skipped``), and how many were rescheduled at the rate (``spread``).
    ``released`` is False if time ran out and the installation is still held.
    """

    released: bool
    skipped: int
    spread: int


@dataclass(frozen=True, slots=True, kw_only=True)
class HoldPolicy:
    """What to do before workers continue."""

    skip_older_than: timedelta | None = None
    rate: float | None = None
    held: Sequence[str] = ()
    note: str | None = None
    actor: str | None = None

    async def carry_out(self, lend: Lend, *, cancels: bool = True, within: float = inf) -> ReleasedInstallation:
        """Holds the installation if it is not held yet, applies the policy, and releases the installation. If
        ``cancels`` is False, workers cancel executions, as in any bulk operation.

        Stops after ``within`` seconds. Each step is a transaction of its own, so the work can be interrupted at any
        moment and resumed. Raises Conflict if the bulk operation is stopped before it has finished.
        """
        until = time.monotonic() + within
        async with lend() as connection:
            await verbs.pause(connection, "installation", note=self.note, actor=self.actor)
        for client in self.held:
            async with lend() as connection:
                await verbs.pause(connection, "client", client, note=self.note, actor=self.actor)
        skipped, is_done = await self._skip(lend, cancels=cancels, until=until)
        moved = 0
        if is_done and self.rate is not None:
            moved, is_done = await spread(lend, self.rate, until=until)
        if is_done:
            async with lend() as connection:
                await verbs.resume(connection, "installation", note=self.note, actor=self.actor)
        return ReleasedInstallation(released=is_done, skipped=skipped, spread=moved)

    async def _skip(self, lend: Lend, *, cancels: bool, until: float) -> tuple[int, bool]:
        if self.skip_older_than is None:
            return 0, True
        async with lend() as connection:
            asked = await self._cancel(connection, self.skip_older_than)
        assert asked.id is not None
        while True:
            async with lend() as connection:
                found = await bulk_pages.get_operation(connection, asked.id)
                more = cancels and (await internal_verbs.advance_bulk(connection, asked.id, most=advancing.MOST)).more
            if found.state == "stopped":
                raise Conflict(
                    f"the bulk operation {asked.id} was stopped before it finished, so the installation is still held"
                )
            if found.state == "finished" or time.monotonic() > until:
                return found.done, found.state == "finished"
            if not more:
                await asyncio.sleep(_MOMENT)

    async def _cancel(self, connection: AsyncConnection[Any], age: timedelta) -> BulkAsked:
        before = await verbs.now(connection) - age
        wanted = ExecutionFilter(statuses=_UNDONE, end=before)
        note = self.note or f"skipped after a restore: due before {before:%Y-%m-%dT%H:%M:%SZ}"
        how: Any = {"rate": _CANCELLED_A_SECOND, "note": note, "actor": self.actor}
        return await starting.ask(connection, "cancel", wanted.as_json(), **how)


async def spread(lend: Lend, rate: float, *, until: float = inf) -> tuple[int, bool]:
    """Reschedules due executions, in the order in which they were due. ``rate`` is the number that start per second.
    Returns the number rescheduled, and whether all have been rescheduled. Stops at ``until`` (monotonic clock), and can
    be resumed."""
    async with lend() as connection:
        places = await rows(connection, SimpleNamespace, "admin/overdue_partitions")
    apart, moved = timedelta(seconds=len(places) / rate), 0
    for n, place in enumerate(places):
        begins, latest = place.now + timedelta(seconds=(n + 1) / rate), _MOVED_AT_ONCE
        while latest == _MOVED_AT_ONCE:
            if time.monotonic() > until:
                return moved, False
            given = {"due_by": places[0].now, "begins": begins, "apart": apart, "most": _MOVED_AT_ONCE}
            async with lend() as connection:
                latest = await internal_verbs.spread_overdue(connection, place.partition, **given)
            begins, moved = begins + latest * apart, moved + latest
    return moved, True
