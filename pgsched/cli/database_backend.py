"""The database as a backend for commands, with the methods of the SDK's client that commands call, and a few others."""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar
from uuid import UUID

import msgspec
from psycopg import AsyncConnection

from pgsched.api_responses import Job, JobDetail, Page, Scheduled, job_detail, job_of, page_of
from pgsched.cli.why import Around
from pgsched.domain.duration import length_of
from pgsched.domain.event_position import Position
from pgsched.domain.id_or_key import id_or_key
from pgsched.domain.states import each_once
from pgsched.errors import InvalidInput, NotFound
from pgsched.sealing import KeyRing
from pgsched.settings import Settings
from pgsched.store import verbs
from pgsched.store.admin import audit, clients, queues, secrets, worker_listing
from pgsched.store.bulk import starting
from pgsched.store.bulk.operation_types import Action, BulkAsked
from pgsched.store.core.lock_capacity import find_room
from pgsched.store.gates import blocked_keys, limits, sidelined_targets
from pgsched.store.jobs import edits
from pgsched.store.lookup import audit_pages, bulk_pages, executions_and_jobs
from pgsched.store.lookup.clauses import SortOrder
from pgsched.store.lookup.event_feed import horizon, list_events
from pgsched.store.lookup.filters import DeadLetterFilter, EventFilter, ExecutionFilter, JobFilter, filter_json
from pgsched.store.lookup.named import Kind, id_of
from pgsched.store.lookup.row_types import USUALLY, DeadLetter, EditPreview, Event, Execution
from pgsched.store.schedule import calls
from pgsched.store.schedule import edits as schedule_edits
from pgsched.store.schedule.schedule_parameters import request_of

_Found = TypeVar("_Found")
_Method = Callable[..., Awaitable[_Found]]


def _asks(question: Callable[..., Awaitable[_Found]]) -> _Method[_Found]:
    """Wraps a store's lookup function as a method."""

    async def ask(self: "DatabaseBackend", *given: Any) -> _Found:
        return await question(self._connection, *given)

    return ask


def _does(verb: Callable[..., Awaitable[_Found]]) -> _Method[_Found]:
    """Wraps a store function that makes a change as a method, which passes the actor."""

    async def do(self: "DatabaseBackend", *given: Any, **named: Any) -> _Found:
        return await verb(self._connection, *given, actor=self._actor, **named)

    return do


def _switches(kind: verbs.PausedKind) -> tuple[_Method[bool], _Method[bool]]:
    """Returns two methods, which pause and resume an object of this kind by its name or number."""

    def method(verb: Callable[..., Awaitable[bool]]) -> _Method[bool]:
        async def switch(self: "DatabaseBackend", name: object, **given: Any) -> bool:
            return await verb(self._connection, kind, str(name), **given, actor=self._actor)

        return switch

    return method(verbs.pause), method(verbs.resume)


def _lists(
    question: Callable[..., Awaitable[list[_Found]]],
    place: Callable[[_Found], object],
    *,
    read: Callable[[Any], Any] = lambda after: after,
) -> _Method[Page[_Found]]:
    """Wraps a store function that lists rows as a method, which returns a page. ``place`` returns a row's cursor, and
    ``read`` parses a cursor."""

    async def ask(self: "DatabaseBackend", *given: Any, limit: int, after: Any = None, **wanted: Any) -> Page[_Found]:
        found = await question(self._connection, *given, limit=limit + 1, after=read(after), **wanted)
        return page_of(found, limit, place)

    return ask


def _place(after: str | None) -> UUID | None:
    """Parses a cursor. Raises InvalidInput."""
    try:
        return None if after is None else UUID(after)
    except ValueError:
        raise InvalidInput(f"--after cannot be {after!r}: copy the value of next from the previous page") from None


class DatabaseBackend:
    """Runs commands on a connection. Changes are made as ``actor``, which defaults to the connection's login."""

    def __init__(self, connection: AsyncConnection[Any], settings: Settings, actor: str | None) -> None:
        self._connection, self._settings, self._actor = connection, settings, actor

    pause, resume = _switches("job")
    trigger = _does(verbs.trigger)
    get_execution = _asks(executions_and_jobs.execution_detail)
    get_dead_letter = _asks(executions_and_jobs.dead_letter_detail)
    discard = _does(verbs.discard)
    get_bulk = _asks(bulk_pages.get_detail)
    list_bulk = _lists(bulk_pages.list_operations, lambda row: row.id, read=_place)
    stop_bulk = _does(verbs.stop_bulk)
    list_clients = _lists(clients.all_clients, lambda row: row.client)
    get_client = _asks(clients.get_client)
    change_client = _does(verbs.set_client)
    hold_client, release_client = _switches("client")
    drop_client = _does(verbs.drop_client)
    drop_signing_secret = _does(verbs.drop_signing_secret)
    list_queues = _asks(queues.all_queues)
    get_queue = _asks(queues.get_queue)
    change_queue = _does(verbs.set_queue)
    pause_queue, resume_queue = _switches("queue")
    drop_queue = _does(verbs.drop_queue)
    list_workers = _asks(worker_listing.all_workers)
    get_worker = _asks(worker_listing.get_worker)
    drain_worker, resume_worker = _switches("worker")
    list_limits = _lists(limits.all_limits, lambda row: f"{row.kind}:{row.name}")
    drop_limit = _does(verbs.drop_limit)
    list_sidelined = _lists(sidelined_targets.sidelined, lambda row: row.gate)
    sideline, restore = _switches("target")
    list_blocked = _lists(blocked_keys.blocked_keys, lambda row: row.execution_id, read=_place)
    list_secrets = _lists(secrets.all_secrets, lambda row: row.name)
    drop_secret = _does(verbs.drop_secret)

    async def identify(self, kind: Kind, name: str, client: str | None = None) -> UUID:
        """Returns the id of the object with the given id or key."""
        return await id_of(self._connection, kind, id_or_key(name), None if client is None else [client])

    async def schedule(self, target: str, **given: Any) -> Scheduled:
        order = request_of(target, given | {"payload": _text_of(given.get("payload"))})
        placed = await calls.schedule(self._connection, order)
        kind: Any = "job" if order.when.recurs else "execution"
        return Scheduled(id=placed.id, kind=kind, outcome=placed.outcome, fire_at=placed.fire_at)

    async def list_jobs(
        self, *, sort: str, limit: int, after: str | None, last_outcomes: int = 0, **wanted: Any
    ) -> Page[Job]:
        how = _window(sort, limit, after)
        found = await executions_and_jobs.list_jobs(self._connection, JobFilter(**wanted), **how)
        last = await executions_and_jobs.last_outcomes(self._connection, [row.id for row in found.items], last_outcomes)
        return _page(found, [job_of(row, last.get(row.id)) for row in found.items])

    async def get_job(self, id: UUID) -> JobDetail:
        """Returns a job, with the instant of its waiting execution."""
        row = await executions_and_jobs.get_job(self._connection, id)
        planned, _ = await executions_and_jobs.planned_instant(self._connection, id)
        last = await executions_and_jobs.last_outcomes(self._connection, [id], USUALLY)
        return job_detail(row, planned, executions_and_jobs.usual_duration(last[id]))

    async def change_job(self, id: UUID, changes: Mapping[str, Any], *, force: bool) -> tuple[bool, datetime | None]:
        """Changes a job. Returns whether anything changed, and when the job fires next."""
        asked = edits.changes_of(changes)
        is_changed = await edits.edit_job(self._connection, id, asked, actor=self._actor, force=force)
        planned, _ = await executions_and_jobs.planned_instant(self._connection, id)
        return is_changed, planned

    async def preview_job(
        self, id: UUID, changes: Mapping[str, Any], *, start: datetime | None, count: int
    ) -> EditPreview:
        return await edits.preview_job(self._connection, id, edits.changes_of(changes), start=start, count=count)

    async def cancel_job(self, id: UUID, *, note: str | None) -> bool:
        if not await calls.is_job(self._connection, id):
            raise NotFound(
                f"there is no job {id}: see pgsched jobs list; to cancel a one-shot, use pgsched executions cancel"
            )
        return await verbs.cancel(self._connection, id, note=note, actor=self._actor)

    async def list_executions(
        self, *, sort: str, limit: int, after: str | None, status: Sequence[str] | None, **wanted: Any
    ) -> Page[Execution]:
        named = ExecutionFilter(statuses=each_once(status or ()), **wanted)
        return _page(await executions_and_jobs.list_executions(self._connection, named, **_window(sort, limit, after)))

    async def around(self, row: Execution) -> Around:
        is_pulled = row.queue is not None and await queues.is_pulled(self._connection, row.queue)
        now, hold = await verbs.now(self._connection), await clients.find_hold(self._connection, row.client)
        return Around(now=now, is_pulled=is_pulled, hold=hold)

    async def cancel_execution(self, id: UUID, *, note: str | None) -> bool:
        if await calls.is_job(self._connection, id):
            raise NotFound(f"{id} is a job: use pgsched jobs cancel")
        return await verbs.cancel(self._connection, id, note=note, actor=self._actor)

    async def change_execution(
        self, id: UUID, changes: Mapping[str, Any], *, note: str | None
    ) -> tuple[bool, datetime | None]:
        """Changes an execution. Returns whether anything changed, and when the execution fires."""
        is_changed = await schedule_edits.edit(
            self._connection, id, schedule_edits.changes_of(changes), note=note, actor=self._actor
        )
        return is_changed, (await executions_and_jobs.get_execution(self._connection, id)).fire_at

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
        asked = {"dry_run": dry_run, "actor": self._actor, **given}
        return await starting.ask(self._connection, action, filter_json(wanted), **asked)

    async def list_dead_letters(
        self, *, state: str, sort: str, limit: int, after: str | None, **wanted: Any
    ) -> Page[DeadLetter]:
        how = {"state": state, **_window(sort, limit, after)}
        return _page(await executions_and_jobs.list_dead_letters(self._connection, DeadLetterFilter(**wanted), **how))

    async def replay(self, id: UUID, *, note: str | None = None, **changes: Any) -> UUID:
        options = json.dumps(changes["options"]) if "options" in changes else None
        given = {"target": changes.get("target"), "payload": _text_of(changes.get("payload")), "options": options}
        return await verbs.replay(self._connection, id, **given, note=note, actor=self._actor)

    async def list_events(
        self, *, after: str | None, since: timedelta, limit: int, status: Sequence[str] | None, **wanted: Any
    ) -> Page[Event]:
        """Lists past events. Raises InvalidInput if ``after`` is not a valid position."""
        now = await horizon(self._connection)
        start = None if after else datetime.fromtimestamp(now.at, UTC) - since
        position = Position.beginning(start) if start is not None else Position.parse(str(after))
        position.check(now)
        named = EventFilter(statuses=each_once(status or ()), **wanted)
        items, end = await list_events(self._connection, named, position, now, limit=limit, since=start)
        return Page(items=items, next=str(end))

    async def unblock(self, client: str, ordering_key: str) -> bool:
        return await verbs.resume(self._connection, "ordering_key", ordering_key, client=client, actor=self._actor)

    async def change_limit(self, kind: str, name: str, amount: Mapping[str, Any]) -> bool:
        asked = {"rate": None, "burst": None, "concurrency": None, **amount, "per": length_of(amount["per"])}
        return await verbs.set_limit(self._connection, kind, name, **asked, actor=self._actor)

    async def add_queue(self, name: str, *, pulled: bool, settings: Mapping[str, Any]) -> str | None:
        """Creates a queue. Returns advice if the server's lock table is too small for another one."""
        asked = {**settings, "pulled": True} if pulled else settings
        await verbs.create_queue(self._connection, name, asked, actor=self._actor)
        return (await find_room(self._connection)).advice()

    async def rotate_signing_secret(self, client: str, *, secret: str | None, keep_for: timedelta | None) -> str:
        how: Any = {"secret": secret, "keep_for": clients.KEPT_FOR if keep_for is None else keep_for}
        return await clients.rotate_signing_secret(self._connection, self._ring, client, **how, actor=self._actor)

    async def store_secret(self, client: str, name: str, value: str, *, hosts: Sequence[str] | None) -> bool:
        """Stores a secret. Returns False if it replaced an existing one."""
        return await secrets.put(self._connection, self._ring, client, name, value, hosts=hosts, actor=self._actor)

    async def list_changes(self, *, limit: int, after: str | int | None, **wanted: Any) -> Page[audit.AuditEntry]:
        how: Any = {"limit": limit + 1, "after": None if after is None else int(after)}
        found = await audit_pages.changes(self._connection, audit.AuditFilter(**wanted), **how)
        return page_of(found, limit, lambda row: row.id)

    @property
    def _ring(self) -> KeyRing | None:
        return KeyRing.parse(self._settings.secret_keys)


def _page(found: Any, items: list[Any] | None = None) -> Page[Any]:
    """Returns a page of a listing, with the cursor of the next page as text."""
    return Page(items=found.items if items is None else items, next=None if found.next is None else str(found.next))


def _text_of(payload: msgspec.Raw | None) -> str | None:
    """Returns the payload as JSON text, unchanged."""
    return None if payload is None else bytes(payload).decode()


def _window(sort: str, limit: int, after: str | None) -> dict[str, Any]:
    return {"limit": limit, "after": _place(after), "order": SortOrder(sort)}
