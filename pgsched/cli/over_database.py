"""Commands over the database: on one connection, the methods of the SDK's client that commands call, with the same
answers, and what they ask beside those."""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from pgsched.cli.jobs_over_database import JobsOverDatabase, text_of
from pgsched.cli.settings_over_database import does
from pgsched.cli.why import Around
from pgsched.domain.event_position import Position
from pgsched.domain.states import each_once
from pgsched.errors import NotFound
from pgsched.responses import DeadLetterDetail, ExecutionDetail, Page, page_of, with_attempts
from pgsched.store import verbs
from pgsched.store.admin import clients, queues
from pgsched.store.bulk import operations
from pgsched.store.bulk.values import Action, BulkAsked, BulkDetail, BulkOperation
from pgsched.store.ends import dependencies
from pgsched.store.lookup.events import horizon, list_events
from pgsched.store.lookup.rows import (
    DeadLetter,
    DeadLetterFilter,
    Event,
    EventFilter,
    Execution,
    ExecutionFilter,
    filter_json,
)
from pgsched.store.schedule import calls


class OverDatabase(JobsOverDatabase):
    """The database, as commands ask it; what they change is changed by the actor, or else by the login."""

    discard = does(verbs.discard)
    stop_bulk = does(verbs.stop_bulk)

    async def list_executions(
        self, *, sort: str, limit: int, after: str | None, status: Sequence[str] | None, **wanted: Any
    ) -> Page[Execution]:
        from pgsched.store.lookup import listings
        from pgsched.store.lookup.clauses import SortOrder

        named = ExecutionFilter(statuses=each_once(status or ()), **wanted)
        how: Any = {"limit": limit, "after": self.place(after), "order": SortOrder(sort)}
        found = await listings.list_executions(self.connection, named, **how)
        return _page(found)

    async def get_execution(self, id: UUID) -> ExecutionDetail:
        from pgsched.store.lookup import listings

        row = await listings.get_execution(self.connection, id)
        if row is None:
            raise NotFound(f"there is no execution {id}; see pgsched executions list, and pgsched jobs list")
        attempts = await listings.attempts_of(self.connection, id)
        waits_for = await dependencies.waits_for(self.connection, id)
        progress = await listings.progress_of(self.connection, row)
        return with_attempts(ExecutionDetail, row, attempts=attempts, waits_for=waits_for, progress=progress)

    async def around(self, row: Execution) -> Around:

        is_pulled = row.queue is not None and await queues.is_pulled(self.connection, row.queue)
        now, hold = await verbs.now(self.connection), await clients.find_hold(self.connection, row.client)
        return Around(now=now, is_pulled=is_pulled, hold=hold)

    async def cancel_execution(self, id: UUID, *, note: str | None) -> bool:
        if await calls.is_job(self.connection, id):
            raise NotFound(f"{id} is a job: use pgsched jobs cancel")
        return await verbs.cancel(self.connection, id, note=note, actor=self.actor)

    async def change_execution(
        self, id: UUID, changes: Mapping[str, Any], *, note: str | None
    ) -> tuple[bool, datetime | None]:
        """Whether anything is different now, and when it fires."""
        from pgsched.store.schedule.edits import changes_of, edit, read

        is_changed = await edit(self.connection, id, changes_of(changes), note=note, actor=self.actor)
        return is_changed, (await read(self.connection, id)).fire_at

    async def bulk(
        self,
        action: Action,
        *,
        note: str | None,
        dry_run: bool,
        rate: float | None = None,
        new_target: str | None = None,
        fire_at: datetime | None = None,
        shift: timedelta | None = None,
        **wanted: Any,
    ) -> BulkAsked:
        given: Any = {"rate": rate, "target": new_target, "fire_at": fire_at, "shift": shift, "note": note}
        asked = {"dry_run": dry_run, "actor": self.actor, **given}
        return await operations.ask(self.connection, action, filter_json(wanted), **asked)

    async def get_bulk(self, id: UUID) -> BulkDetail:
        return await operations.get_detail(self.connection, id)

    async def list_bulk(self, *, limit: int, after: str | None, **wanted: Any) -> Page[BulkOperation]:
        place = self.place(after)
        found = await operations.list_operations(self.connection, limit=limit + 1, after=place, **wanted)
        return page_of(found, limit, lambda row: row.id)

    async def list_dead_letters(
        self, *, state: str, sort: str, limit: int, after: str | None, **wanted: Any
    ) -> Page[DeadLetter]:
        from pgsched.store.lookup import listings
        from pgsched.store.lookup.clauses import SortOrder

        how: Any = {"state": state, "limit": limit, "after": self.place(after), "order": SortOrder(sort)}
        found = await listings.list_dead_letters(self.connection, DeadLetterFilter(**wanted), **how)
        return _page(found)

    async def get_dead_letter(self, id: UUID) -> DeadLetterDetail:
        from pgsched.store.lookup import listings

        row = await listings.get_dead_letter(self.connection, id)
        if row is None:
            raise NotFound(f"there is no dead letter {id}; see pgsched dead-letters list --state all")
        return with_attempts(DeadLetterDetail, row, attempts=await listings.attempts_of(self.connection, id))

    async def replay(self, id: UUID, *, note: str | None = None, **changes: Any) -> UUID:
        options = json.dumps(changes["options"]) if "options" in changes else None
        given = {"target": changes.get("target"), "payload": text_of(changes.get("payload")), "options": options}
        return await verbs.replay(self.connection, id, **given, note=note, actor=self.actor)

    async def list_events(
        self, *, after: str | None, since: timedelta, limit: int, status: Sequence[str] | None, **wanted: Any
    ) -> Page[Event]:
        """Raises InvalidInput for a place that is none."""
        now = await horizon(self.connection)
        start = None if after else datetime.fromtimestamp(now.at, UTC) - since
        position = Position.beginning(start) if start is not None else Position.parse(str(after))
        position.check(now)
        named = EventFilter(statuses=each_once(status or ()), **wanted)
        items, end = await list_events(self.connection, named, position, now, limit=limit, since=start)
        return Page(items=items, next=str(end))


def _page(found: Any) -> Page[Any]:
    """A page of a listing, with the place of the next as text."""
    return Page(items=found.items, next=None if found.next is None else str(found.next))
