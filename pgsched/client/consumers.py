"""The methods of both clients for consumers: they claim from a queue and report results.

for message in client.consume("orders", worker="svc-1"):
    try:
        settle(message.payload)
    except Exception as error:
        client.fail(message, repr(error))
    else:
        client.complete(message)
"""

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, TypeVar
from urllib.parse import quote
from uuid import UUID

from pgsched.client.asks import Ask, Id, encode, identity
from pgsched.domain.duration import format_duration, parse_duration
from pgsched.errors import InvalidInput

_Answer = TypeVar("_Answer")
_MARGIN = 10.0  # seconds that an answer may take beyond what it was asked to wait


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """An execution that is this consumer's until ``lease_expires_at``; the ``token`` stands for that."""

    id: UUID
    token: str
    attempt: int
    scheduled_for: datetime
    client: str
    key: str | None
    ordering_key: str | None
    job_id: UUID | None
    payload: Any
    target: str
    options: dict[str, Any] | None
    lease_expires_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Messages:
    """The executions that a claim returned."""

    items: tuple[Message, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """The status of an execution after a call."""

    id: UUID
    status: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """Until when an execution is kept."""

    id: UUID
    lease_expires_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Ticket:
    """Stands for a deferred execution: its id and the token that came with the call."""

    id: Id
    token: str | int


Held = Message | Ticket
Length = timedelta | str


def claim(queue: str, *, worker: str, batch: int, lease: Length, wait: Length) -> Ask[Messages]:
    body = {"worker": worker, "batch": batch, "lease": _text(lease), "wait": _text(wait)}
    path = f"/v1/queues/{quote(queue, safe='')}/claim"
    patience = _MARGIN + _seconds(wait)
    return Ask(method="POST", path=path, answer=Messages, body=encode(body, "worker"), timeout=patience)


def complete(held: Held, result: Any) -> Ask[Settled]:
    body = {"token": str(held.token)} | ({} if result is None else {"result": result})
    return _ask(held, "complete", Settled, body)


def fail(held: Held, error: str, *, retryable: bool, retry_after: Length | None) -> Ask[Settled]:
    after = {} if retry_after is None else {"retry_after": _text(retry_after)}
    return _ask(held, "fail", Settled, {"token": str(held.token), "error": error, "retryable": retryable} | after)


def extend(held: Held, lease: Length) -> Ask[Kept]:
    return _ask(held, "extend", Kept, {"token": str(held.token), "lease": _text(lease)})


def release(held: Held) -> Ask[Settled]:
    return _ask(held, "release", Settled, {"token": str(held.token)})


def _ask(held: Held, verb: str, answer: type[_Answer], body: dict[str, Any]) -> Ask[_Answer]:
    path = f"/v1/executions/{identity(held.id)}/{verb}"
    return Ask(method="POST", path=path, answer=answer, body=encode(body, "the result"))


def _text(length: Length) -> str:
    return format_duration(length) if isinstance(length, timedelta) else length


def _seconds(length: Length) -> float:
    if isinstance(length, timedelta):
        return length.total_seconds()
    return 0.0 if length in {"PT0S", "0s"} else parse_duration(length).total_seconds()


class ConsumerCalls:
    """What ``Client`` has for consumers."""

    def ask(self, ask: Ask[_Answer]) -> _Answer:
        raise NotImplementedError

    def claim(
        self, queue: str, *, worker: str, batch: int = 1, lease: Length = "30s", wait: Length = "0s"
    ) -> tuple[Message, ...]:
        """What is due in a queue that is pulled, each under a lease; with ``wait``, up to 60 s, none only after so
        long."""
        return self.ask(claim(queue, worker=worker, batch=batch, lease=lease, wait=wait)).items

    def complete(self, message: Held, result: Any = None) -> None:
        """It has succeeded. Raises StaleLease where another has it by now, or it has ended."""
        self.ask(complete(message, result))

    def fail(self, message: Held, error: str, *, retryable: bool = True, retry_after: Length | None = None) -> str:
        """This attempt has failed; returns what becomes of it: ``retrying``, ``failed`` or ``expired``."""
        return self.ask(fail(message, error, retryable=retryable, retry_after=retry_after)).status

    def extend(self, message: Held, lease: Length = "30s") -> datetime:
        """Keeps it for so long from now; returns until when."""
        return self.ask(extend(message, lease)).lease_expires_at

    def release(self, message: Held) -> None:
        """Hands it back as if it had not been claimed."""
        self.ask(release(message))

    def consume(
        self, queue: str, *, worker: str, batch: int = 1, lease: Length = "30s", wait: Length = "20s"
    ) -> Iterator[Message]:
        """One after another, for ever: each is to be completed or failed before the next is asked for."""
        _check_wait(wait)
        while True:
            yield from self.ask(claim(queue, worker=worker, batch=batch, lease=lease, wait=wait)).items


class AsyncConsumerCalls:
    """What ``AsyncClient`` has for consumers."""

    async def ask(self, ask: Ask[_Answer]) -> _Answer:
        raise NotImplementedError

    async def claim(
        self, queue: str, *, worker: str, batch: int = 1, lease: Length = "30s", wait: Length = "0s"
    ) -> tuple[Message, ...]:
        """What is due in a queue that is pulled, each under a lease; with ``wait``, up to 60 s, none only after so
        long."""
        return (await self.ask(claim(queue, worker=worker, batch=batch, lease=lease, wait=wait))).items

    async def complete(self, message: Held, result: Any = None) -> None:
        """It has succeeded. Raises StaleLease where another has it by now, or it has ended."""
        await self.ask(complete(message, result))

    async def fail(
        self, message: Held, error: str, *, retryable: bool = True, retry_after: Length | None = None
    ) -> str:
        """This attempt has failed; returns what becomes of it: ``retrying``, ``failed`` or ``expired``."""
        return (await self.ask(fail(message, error, retryable=retryable, retry_after=retry_after))).status

    async def extend(self, message: Held, lease: Length = "30s") -> datetime:
        """Keeps it for so long from now; returns until when."""
        return (await self.ask(extend(message, lease))).lease_expires_at

    async def release(self, message: Held) -> None:
        """Hands it back as if it had not been claimed."""
        await self.ask(release(message))

    async def consume(
        self, queue: str, *, worker: str, batch: int = 1, lease: Length = "30s", wait: Length = "20s"
    ) -> AsyncIterator[Message]:
        """One after another, for ever: each is to be completed or failed before the next is asked for."""
        _check_wait(wait)
        while True:
            for message in (await self.ask(claim(queue, worker=worker, batch=batch, lease=lease, wait=wait))).items:
                yield message


def _check_wait(wait: Length) -> None:
    if _seconds(wait) < 1:
        raise InvalidInput('wait must be 1 s or more, such as wait="20s": else an empty queue is asked all the time')
