"""The two API clients, synchronous and asyncio, with the same methods."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from itertools import count
from types import TracebackType
from typing import Self, TypeVar, Unpack

import httpx

from pgsched.client.audit import AuditMethods
from pgsched.client.bulk import BulkMethods
from pgsched.client.clients import ClientMethods
from pgsched.client.dead_letters import DeadLetterMethods
from pgsched.client.events import EventQuery, EventStream
from pgsched.client.executions import ExecutionMethods
from pgsched.client.gates import GateMethods
from pgsched.client.jobs import JobMethods
from pgsched.client.pull import PullMethods, claim_for_ever
from pgsched.client.queues import QueueMethods
from pgsched.client.requests import Call, Length, check_address, check_patience, headers_of, unavailable
from pgsched.client.sync_async_methods import AsyncBase, SyncBase
from pgsched.client.workers import WorkerMethods
from pgsched.store.lookup.row_types import Event
from pgsched.store.pull.claiming import Message

_Answer = TypeVar("_Answer")


class _Methods(
    JobMethods,
    ExecutionMethods,
    BulkMethods,
    DeadLetterMethods,
    PullMethods,
    ClientMethods,
    QueueMethods,
    WorkerMethods,
    GateMethods,
    AuditMethods,
):
    """All methods that both clients share."""


class Client(_Methods, SyncBase):
    """Calls the API at ``base_url`` with a key; ``timeout`` is in seconds. Close the client, or use it as a context
    manager.

    Idempotent requests (all reads, and ``schedule`` with a key) are retried up to ``retries`` times while the API
    cannot be reached or asks for a later retry. Raises the matching exception in ``pgsched.errors`` for an error
    response, and Unavailable if there is no response.
    """

    def __init__(
        self,
        base_url: str,
        *,
        api_key: str | None = None,
        timeout: float = 10.0,
        retries: int = 2,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        check_patience(timeout, retries)
        self._retries = retries
        self._http = httpx.Client(
            base_url=check_address(base_url), headers=headers_of(api_key), timeout=timeout, transport=transport
        )

    def consume(
        self, queue: str, *, worker: str, batch: int = 1, lease: Length = "30s", wait: Length = "20s"
    ) -> Iterator[Message]:
        """Yields messages indefinitely. Complete or fail each message before you take the next."""
        while True:
            yield from self._ask(claim_for_ever(queue, worker, batch, lease, wait))

    def events(self, *, after: str | None = None, **wanted: Unpack[EventQuery]) -> Iterator[Event]:
        """Yields execution outcomes indefinitely, in the order in which they become visible. Starts now, or after the
        event with the cursor ``after``. A broken stream is resumed, and each outcome is yielded once."""
        stream = EventStream(wanted, after, self._retries)
        pause: float | None = 0.0
        while pause is not None:
            time.sleep(pause)
            try:
                with self._streaming(stream) as response:
                    if response.is_success:
                        for piece in response.iter_bytes():
                            yield from stream.read(piece)
                        pause = stream.ended()
                    else:
                        response.read()
                        pause = stream.refused(response)
            except httpx.RequestError as error:
                pause = stream.broken(error)

    @contextmanager
    def _streaming(self, stream: EventStream) -> Iterator[httpx.Response]:
        response = self._http.send(stream.request(self._http), stream=True)
        try:
            yield response
        finally:
            response.close()

    def close(self) -> None:
        """Closes the connections to the API."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _ask(self, call: Call[_Answer]) -> _Answer:
        for number in count():
            try:
                response = self._http.send(call.send_by(self._http))
            except httpx.RequestError as error:
                if (pause := call.pause(self._retries, number)) is None:
                    raise unavailable(error) from error
            else:
                if (pause := call.pause(self._retries, number, response)) is None:
                    return call.read(response)
            time.sleep(pause)
        raise AssertionError("unreachable")


class AsyncClient(_Methods, AsyncBase):
    """The asyncio version of ``Client``, with the same methods. Close the client with ``aclose``, or use
    ``async with``."""

    def __init__(
        self,
        base_url: str,
        *,
        api_key: str | None = None,
        timeout: float = 10.0,
        retries: int = 2,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        check_patience(timeout, retries)
        self._retries = retries
        self._http = httpx.AsyncClient(
            base_url=check_address(base_url), headers=headers_of(api_key), timeout=timeout, transport=transport
        )

    async def consume(
        self, queue: str, *, worker: str, batch: int = 1, lease: Length = "30s", wait: Length = "20s"
    ) -> AsyncIterator[Message]:
        """Yields messages indefinitely. Complete or fail each message before you take the next."""
        while True:
            for message in await self._ask(claim_for_ever(queue, worker, batch, lease, wait)):
                yield message

    async def events(self, *, after: str | None = None, **wanted: Unpack[EventQuery]) -> AsyncIterator[Event]:
        """Yields execution outcomes indefinitely, in the order in which they become visible. Starts now, or after the
        event with the cursor ``after``. A broken stream is resumed, and each outcome is yielded once."""
        stream = EventStream(wanted, after, self._retries)
        pause: float | None = 0.0
        while pause is not None:
            await asyncio.sleep(pause)
            try:
                async with self._streaming(stream) as response:
                    if response.is_success:
                        async for piece in response.aiter_bytes():
                            for event in stream.read(piece):
                                yield event
                        pause = stream.ended()
                    else:
                        await response.aread()
                        pause = stream.refused(response)
            except httpx.RequestError as error:
                pause = stream.broken(error)

    @asynccontextmanager
    async def _streaming(self, stream: EventStream) -> AsyncIterator[httpx.Response]:
        response = await self._http.send(stream.request(self._http), stream=True)
        try:
            yield response
        finally:
            await response.aclose()

    async def aclose(self) -> None:
        """Closes the connections to the API."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def _ask(self, call: Call[_Answer]) -> _Answer:
        for number in count():
            try:
                response = await self._http.send(call.send_by(self._http))
            except httpx.RequestError as error:
                if (pause := call.pause(self._retries, number)) is None:
                    raise unavailable(error) from error
            else:
                if (pause := call.pause(self._retries, number, response)) is None:
                    return call.read(response)
            await asyncio.sleep(pause)
        raise AssertionError("unreachable")
