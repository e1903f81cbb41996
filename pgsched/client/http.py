"""The two clients of the API. They share ``asks``, and differ only in how they wait."""

from collections.abc import AsyncIterator, Iterator
from datetime import datetime
from types import TracebackType
from typing import Self, TypeVar, Unpack
from uuid import UUID

import httpx

from pgsched.client import asks, backfills, changes
from pgsched.client.asks import Ask, ExecutionFilter, Id, JobFilter, JobGroup, JobOptions
from pgsched.client.changes import JobChanges, Spec
from pgsched.client.consumers import AsyncConsumerCalls, ConsumerCalls
from pgsched.client.dead_letters import AsyncDeadLetterCalls, DeadLetterCalls
from pgsched.client.values import (
    Backfill,
    Backfilled,
    EditPreview,
    Execution,
    Fire,
    Job,
    Page,
    Scheduled,
)

_Answer = TypeVar("_Answer")


class Client(ConsumerCalls, DeadLetterCalls):
    """Calls the API at ``base_url``; ``timeout`` is in seconds. Close it, or use it as a context manager.

    Raises what ``pgsched.errors`` has for the problem the API answers with, and Unavailable when there is no answer.
    """

    def __init__(self, base_url: str, *, timeout: float = 10.0, transport: httpx.BaseTransport | None = None) -> None:
        self._http = httpx.Client(base_url=asks.check_address(base_url), timeout=timeout, transport=transport)

    def schedule(self, target: str, **options: Unpack[JobOptions]) -> Scheduled:
        """Schedules an execution, or with ``cron`` or ``every`` a job; committed when it returns."""
        return self.ask(asks.schedule(target, **options))

    def get_job(self, job_id: Id) -> Job:
        return self.ask(asks.get_job(job_id))

    def list_jobs(self, *, limit: int = 50, after: str | None = None, **wanted: Unpack[JobFilter]) -> Page[Job]:
        """One page, the newest first."""
        return self.ask(asks.list_jobs(limit=limit, after=after, **wanted))

    def iter_jobs(self, **wanted: Unpack[JobFilter]) -> Iterator[Job]:
        """All of them, page by page as they are asked for."""
        page = self.list_jobs(limit=500, **wanted)
        yield from page.items
        while page.next is not None:
            page = self.list_jobs(limit=500, after=page.next, **wanted)
            yield from page.items

    def get_execution(self, execution_id: Id) -> Execution:
        return self.ask(asks.get_execution(execution_id))

    def list_executions(
        self, *, limit: int = 50, after: str | None = None, **wanted: Unpack[ExecutionFilter]
    ) -> Page[Execution]:
        """One page, the newest first."""
        return self.ask(asks.list_executions(limit=limit, after=after, **wanted))

    def iter_executions(self, **wanted: Unpack[ExecutionFilter]) -> Iterator[Execution]:
        """All of them, page by page as they are asked for."""
        page = self.list_executions(limit=500, **wanted)
        yield from page.items
        while page.next is not None:
            page = self.list_executions(limit=500, after=page.next, **wanted)
            yield from page.items

    def cancel(self, id: Id, *, note: str | None = None) -> bool:
        """Cancels a job, or an execution that waits; false if it had ended before."""
        return self.ask(asks.cancel(id, note)).changed

    def pause(self, job_id: Id, *, note: str | None = None) -> bool:
        """Plans nothing more until the job is resumed; false if it was paused before."""
        return self.ask(asks.pause(job_id, note)).changed

    def resume(self, job_id: Id, *, note: str | None = None) -> bool:
        return self.ask(asks.resume(job_id, note)).changed

    def pause_all(self, *, note: str | None = None, **group: Unpack[JobGroup]) -> int:
        """Pauses the active jobs of a client, or with labels; returns how many."""
        return self.ask(changes.change_all("pause", note, group)).changed

    def resume_all(self, *, note: str | None = None, **group: Unpack[JobGroup]) -> int:
        return self.ask(changes.change_all("resume", note, group)).changed

    def cancel_all(self, *, note: str | None = None, **group: Unpack[JobGroup]) -> int:
        return self.ask(changes.cancel_all(note, group)).changed

    def edit(self, job_id: Id, **changed: Unpack[JobChanges]) -> Job:
        """Changes what is named of a job, and its waiting row with it; what is running goes on as it was."""
        return self.ask(changes.edit(job_id, changed))

    def preview(
        self, job_id: Id, *, count: int = 5, start: datetime | str | None = None, **changed: Unpack[JobChanges]
    ) -> EditPreview:
        """When a job fires as it is, and as it would after ``edit``; changes nothing. ``start`` is now if left out."""
        return self.ask(changes.preview(job_id, count, start, changed))

    def preview_schedule(
        self, *, count: int = 5, start: datetime | str | None = None, **spec: Unpack[Spec]
    ) -> tuple[Fire, ...]:
        """When a schedule would fire that is no job yet."""
        return self.ask(changes.preview_schedule(count, start, spec)).next

    def trigger(self, job_id: Id) -> UUID:
        """Runs a job now, besides its schedule; returns the execution's id."""
        return self.ask(asks.trigger(job_id)).id

    def reschedule(self, execution_id: Id, fire_at: datetime | str) -> None:
        """Moves a waiting one-shot to another instant."""
        self.ask(asks.reschedule(execution_id, fire_at))

    def backfill(
        self, job_id: Id, *, start: datetime | str, end: datetime | str, rate: float = 10, dry_run: bool = False
    ) -> Backfilled:
        """Runs a job's instants from ``start`` to before ``end`` that have not succeeded, ``rate`` of them a second.

        A dry run only counts them.
        """
        return self.ask(backfills.backfill(job_id, start=start, end=end, rate=rate, dry_run=dry_run))

    def get_backfill(self, backfill_id: Id) -> Backfill:
        return self.ask(backfills.get_backfill(backfill_id))

    def cancel_backfill(self, backfill_id: Id) -> bool:
        """Cancels what it planned and still waits; false if it had ended before."""
        return self.ask(backfills.cancel_backfill(backfill_id)).changed

    def close(self) -> None:
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def ask(self, ask: Ask[_Answer]) -> _Answer:
        """Asks for what ``pgsched.client.settings`` makes: settings of clients, queues and limits."""
        try:
            return ask.read(self._http.send(ask.send_by(self._http)))
        except httpx.RequestError as error:
            raise asks.unavailable(error) from error


class AsyncClient(AsyncConsumerCalls, AsyncDeadLetterCalls):
    """``Client`` for asyncio: the same methods, awaited; close it by ``aclose`` or ``async with``."""

    def __init__(
        self, base_url: str, *, timeout: float = 10.0, transport: httpx.AsyncBaseTransport | None = None
    ) -> None:
        self._http = httpx.AsyncClient(base_url=asks.check_address(base_url), timeout=timeout, transport=transport)

    async def schedule(self, target: str, **options: Unpack[JobOptions]) -> Scheduled:
        """Schedules an execution, or with ``cron`` or ``every`` a job; committed when it returns."""
        return await self.ask(asks.schedule(target, **options))

    async def get_job(self, job_id: Id) -> Job:
        return await self.ask(asks.get_job(job_id))

    async def list_jobs(self, *, limit: int = 50, after: str | None = None, **wanted: Unpack[JobFilter]) -> Page[Job]:
        """One page, the newest first."""
        return await self.ask(asks.list_jobs(limit=limit, after=after, **wanted))

    async def iter_jobs(self, **wanted: Unpack[JobFilter]) -> AsyncIterator[Job]:
        """All of them, page by page as they are asked for."""
        page = await self.list_jobs(limit=500, **wanted)
        while True:
            for item in page.items:
                yield item
            if page.next is None:
                return
            page = await self.list_jobs(limit=500, after=page.next, **wanted)

    async def get_execution(self, execution_id: Id) -> Execution:
        return await self.ask(asks.get_execution(execution_id))

    async def list_executions(
        self, *, limit: int = 50, after: str | None = None, **wanted: Unpack[ExecutionFilter]
    ) -> Page[Execution]:
        """One page, the newest first."""
        return await self.ask(asks.list_executions(limit=limit, after=after, **wanted))

    async def iter_executions(self, **wanted: Unpack[ExecutionFilter]) -> AsyncIterator[Execution]:
        """All of them, page by page as they are asked for."""
        page = await self.list_executions(limit=500, **wanted)
        while True:
            for item in page.items:
                yield item
            if page.next is None:
                return
            page = await self.list_executions(limit=500, after=page.next, **wanted)

    async def cancel(self, id: Id, *, note: str | None = None) -> bool:
        """Cancels a job, or an execution that waits; false if it had ended before."""
        return (await self.ask(asks.cancel(id, note))).changed

    async def pause(self, job_id: Id, *, note: str | None = None) -> bool:
        """Plans nothing more until the job is resumed; false if it was paused before."""
        return (await self.ask(asks.pause(job_id, note))).changed

    async def resume(self, job_id: Id, *, note: str | None = None) -> bool:
        return (await self.ask(asks.resume(job_id, note))).changed

    async def pause_all(self, *, note: str | None = None, **group: Unpack[JobGroup]) -> int:
        """Pauses the active jobs of a client, or with labels; returns how many."""
        return (await self.ask(changes.change_all("pause", note, group))).changed

    async def resume_all(self, *, note: str | None = None, **group: Unpack[JobGroup]) -> int:
        return (await self.ask(changes.change_all("resume", note, group))).changed

    async def cancel_all(self, *, note: str | None = None, **group: Unpack[JobGroup]) -> int:
        return (await self.ask(changes.cancel_all(note, group))).changed

    async def edit(self, job_id: Id, **changed: Unpack[JobChanges]) -> Job:
        """Changes what is named of a job, and its waiting row with it; what is running goes on as it was."""
        return await self.ask(changes.edit(job_id, changed))

    async def preview(
        self, job_id: Id, *, count: int = 5, start: datetime | str | None = None, **changed: Unpack[JobChanges]
    ) -> EditPreview:
        """When a job fires as it is, and as it would after ``edit``; changes nothing. ``start`` is now if left out."""
        return await self.ask(changes.preview(job_id, count, start, changed))

    async def preview_schedule(
        self, *, count: int = 5, start: datetime | str | None = None, **spec: Unpack[Spec]
    ) -> tuple[Fire, ...]:
        """When a schedule would fire that is no job yet."""
        return (await self.ask(changes.preview_schedule(count, start, spec))).next

    async def trigger(self, job_id: Id) -> UUID:
        """Runs a job now, besides its schedule; returns the execution's id."""
        return (await self.ask(asks.trigger(job_id))).id

    async def reschedule(self, execution_id: Id, fire_at: datetime | str) -> None:
        """Moves a waiting one-shot to another instant."""
        await self.ask(asks.reschedule(execution_id, fire_at))

    async def backfill(
        self, job_id: Id, *, start: datetime | str, end: datetime | str, rate: float = 10, dry_run: bool = False
    ) -> Backfilled:
        """Runs a job's instants from ``start`` to before ``end`` that have not succeeded, ``rate`` of them a second.

        A dry run only counts them.
        """
        return await self.ask(backfills.backfill(job_id, start=start, end=end, rate=rate, dry_run=dry_run))

    async def get_backfill(self, backfill_id: Id) -> Backfill:
        return await self.ask(backfills.get_backfill(backfill_id))

    async def cancel_backfill(self, backfill_id: Id) -> bool:
        """Cancels what it planned and still waits; false if it had ended before."""
        return (await self.ask(backfills.cancel_backfill(backfill_id))).changed

    async def aclose(self) -> None:
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def ask(self, ask: Ask[_Answer]) -> _Answer:
        """Asks for what ``pgsched.client.settings`` makes: settings of clients, queues and limits."""
        try:
            return ask.read(await self._http.send(ask.send_by(self._http)))
        except httpx.RequestError as error:
            raise asks.unavailable(error) from error
