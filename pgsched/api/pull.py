"""The routes for consumers of pulled queues, and for targets that complete an execution later."""

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import Annotated, Any, Literal, TypeVar
from uuid import UUID

import msgspec
from litestar.di import NamedDependency
from litestar.params import JSONBody, PathParameter
from msgspec import UNSET, Meta, UnsetType

from pgsched.api.access import check_still, grant_of
from pgsched.api.authentication import Authentication
from pgsched.api.connection_pool import Database
from pgsched.api.long_polls import LongPolls, PolledQueue
from pgsched.api.parameters import Duration, ExecutionId, Holders, Pooled
from pgsched.api.request_reading import ApiRequest
from pgsched.api.routing import acts, settles
from pgsched.domain.duration import length_of
from pgsched.domain.round_robin import Payers
from pgsched.errors import InvalidInput, InvalidSchedule, PgschedError, StaleLease
from pgsched.store import verbs
from pgsched.store.pull import claiming
from pgsched.store.pull.claiming import Message

_Answer = TypeVar("_Answer")
LONGEST_WAIT = timedelta(seconds=60)
QueueName = Annotated[str, PathParameter(description="A queue that consumers pull from.")]
Waiting = NamedDependency[LongPolls]
Token = Annotated[str, Meta(pattern=r"^[0-9]{1,19}$", description="The token returned with the execution.")]


class ClaimMessages(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The consumer, and the size of the claim. If nothing is due, the request waits for up to ``wait``."""

    worker: Annotated[str, Meta(min_length=1, max_length=200, description="Name of the consumer, e.g. svc-1.")]
    batch: Annotated[int, Meta(ge=1, le=1000, description="Maximum number of executions to return.")] = 1
    lease: Duration = "PT30S"
    wait: Duration = "PT0S"


class Messages(msgspec.Struct, frozen=True, kw_only=True):
    """The claimed messages, earliest first."""

    items: list[Message]


class CompleteMessage(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Reports that the execution succeeded, with this result."""

    token: Token
    result: Annotated[msgspec.Raw | UnsetType, Meta(description="Any JSON, up to 1 MiB; kept with the execution.")] = (
        UNSET
    )


class FailMessage(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Reports that the attempt failed; ``retryable`` says whether another attempt may succeed."""

    token: Token
    error: Annotated[str, Meta(min_length=1)]
    retryable: bool = True
    retry_after: Duration | None = None


class ExtendMessage(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The new length of the lease, counted from now."""

    token: Token
    lease: Duration = "PT30S"


class ReleaseMessage(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The token that came with the message."""

    token: Token


class MessageStatus(msgspec.Struct, frozen=True, kw_only=True):
    """The status of the execution after the call."""

    id: UUID
    status: Literal["succeeded", "failed", "expired", "retrying", "released"]


class MessageLease(msgspec.Struct, frozen=True, kw_only=True):
    """The new end of the lease."""

    id: UUID
    lease_expires_at: datetime


@acts("/queues/{queue:str}/claim", "Claim due executions from a pulled queue", 404, 409, scope="operate")
async def claim(
    request: ApiRequest,
    queue: QueueName,
    data: JSONBody[ClaimMessages],
    database: Pooled,
    long_polls: Waiting,
    authentication: NamedDependency[Authentication],
) -> Messages:
    """Returns due executions, each with a lease and a token. If an execution is not settled before its lease expires,
    it can be claimed again."""
    lease, wait = _length("lease", data.lease), _length("wait", data.wait)
    if wait > LONGEST_WAIT:
        raise InvalidInput(f"wait can be at most {LONGEST_WAIT.total_seconds():g} s: write PT60S, then claim again")

    async def ask() -> list[Message]:
        return await database.ask(claiming.claim, queue, worker=data.worker, batch=data.batch, lease=lease)

    async def ask_again() -> list[Message]:
        await check_still(authentication, request)
        return await ask()

    found = await ask()
    if not found and wait:
        number = await database.ask(claiming.first_partition, queue)
        async with long_polls.queue(queue, number or 0) as place:
            found = await _claim_later(request, place, ask_again, wait.total_seconds())
    return Messages(items=found)


async def _claim_later(
    request: ApiRequest, queue: PolledQueue, ask: Callable[[], Awaitable[list[Message]]], seconds: float
) -> list[Message]:
    """Waits until executions are due, and claims them. Returns [] if time runs out or the caller disconnects."""
    until, payers = time.monotonic() + seconds, grant_of(request).payers
    # After the body, the only message that can arrive says that the caller has disconnected.
    gone: asyncio.Future[Any] = asyncio.ensure_future(request.receive())
    try:
        while not gone.done() and (left := until - time.monotonic()) > 0:
            turn = await _turn(queue, payers, gone, left)
            if turn is None:
                break
            found, asked = list[Message](), False
            try:
                found, asked = await ask(), True
            finally:  # even if this claim failed or was empty, there may be executions for other requests
                if turn:
                    queue.pass_on(payers, turn, in_vain=asked and not found)
            if found:
                return found
    finally:
        gone.cancel()
    return []


async def _turn(queue: PolledQueue, payers: Payers, gone: asyncio.Future[Any], seconds: float) -> int | None:
    """Waits for this request's turn to claim. Returns the number of the turn, 0 if the time is up, or None if the
    caller has disconnected."""
    turn = asyncio.create_task(queue.wait(payers, seconds))
    await asyncio.wait({turn, gone}, return_when=asyncio.FIRST_COMPLETED)
    if turn.done():
        return turn.result()
    turn.cancel()
    return None


@settles("/executions/{execution_id:str}/complete", "Complete a claimed or deferred execution", 404, 409)
async def complete(execution_id: ExecutionId, data: JSONBody[CompleteMessage], holders: Holders) -> MessageStatus:
    result = None if isinstance(data.result, UnsetType) else bytes(data.result).decode()
    await _report(holders, verbs.complete, execution_id, _token(data.token), result=result)
    return MessageStatus(id=execution_id, status="succeeded")


@settles("/executions/{execution_id:str}/fail", "Fail a claimed or deferred execution", 404, 409)
async def fail(execution_id: ExecutionId, data: JSONBody[FailMessage], holders: Holders) -> MessageStatus:
    """The execution's options determine what happens next, as after a failed call."""
    after = None if data.retry_after is None else _length("retry_after", data.retry_after)
    failure: Any = {"error": data.error, "retryable": data.retryable, "retry_after": after}
    status = await _report(holders, verbs.fail, execution_id, _token(data.token), **failure)
    return msgspec.convert({"id": execution_id, "status": status}, MessageStatus)


@settles("/executions/{execution_id:str}/extend", "Extend the lease of a claimed or deferred execution", 404, 409)
async def extend(execution_id: ExecutionId, data: JSONBody[ExtendMessage], holders: Holders) -> MessageLease:
    token, lease = _token(data.token), _length("lease", data.lease)
    until = await holders.ask(verbs.extend, execution_id, token, lease)
    return MessageLease(id=execution_id, lease_expires_at=until)


@settles("/executions/{execution_id:str}/release", "Release a claimed execution", 404, 409)
async def release(execution_id: ExecutionId, data: JSONBody[ReleaseMessage], holders: Holders) -> MessageStatus:
    """Returns the execution to its queue, as if it had not been claimed."""
    await holders.ask(verbs.release, execution_id, _token(data.token))
    return MessageStatus(id=execution_id, status="released")


async def _report(
    holders: Database, verb: Callable[..., Awaitable[_Answer]], id: UUID, token: int, **said: Any
) -> _Answer:
    """Reports the outcome of an execution. If the token is stale, also reports that the call has ended: the execution
    may have been cancelled, and the next execution with its ordering key then waits for that report."""
    try:
        return await holders.ask(verb, id, token, **said)
    except StaleLease:
        with contextlib.suppress(PgschedError):
            await holders.ask(verbs.release, id, token)
        raise


def _token(text: str) -> int:
    """Parses a token. A number of more than 64 bits becomes a token that no lease has."""
    return min(int(text), 2**63 - 1)


def _length(name: str, text: str) -> timedelta:
    try:
        return length_of(text)
    except InvalidSchedule as error:
        raise InvalidInput(f"{name}: {error}") from None
