"""The routes for consumers of pulled queues, and for targets that complete an execution later."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import Annotated, Any, Literal
from uuid import UUID

import msgspec
from litestar.di import NamedDependency
from litestar.params import JSONBody, PathParameter
from msgspec import UNSET, Meta, UnsetType

from pgsched.api.access import check_still
from pgsched.api.arrivals import Arrivals, Queue
from pgsched.api.authentication import Authentication
from pgsched.api.bodies import Duration
from pgsched.api.parameters import ExecutionId, Pooled
from pgsched.api.requests import ApiRequest
from pgsched.api.routing import acts
from pgsched.domain.request import length_of
from pgsched.errors import InvalidInput, InvalidSchedule
from pgsched.store.pull import messages
from pgsched.store.pull.messages import Failure, Message

LONGEST_WAIT = timedelta(seconds=60)
QueueName = Annotated[str, PathParameter(description="A queue that consumers pull from.")]
Waiting = NamedDependency[Arrivals]
Token = Annotated[str, Meta(pattern=r"^[0-9]{1,19}$", description="The token returned with the execution.")]


class ClaimMessages(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The consumer and the size of the claim. With wait, an empty answer comes only after that time."""

    worker: Annotated[str, Meta(min_length=1, max_length=200, description="Name of the consumer, e.g. svc-1.")]
    batch: Annotated[int, Meta(ge=1, le=1000, description="Most executions to return.")] = 1
    lease: Duration = "PT30S"
    wait: Duration = "PT0S"


class Messages(msgspec.Struct, frozen=True, kw_only=True):
    """The messages that were due, the earliest first."""

    items: list[Message]


class CompleteMessage(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """It has succeeded."""

    token: Token
    result: Annotated[msgspec.Raw | UnsetType, Meta(description="Any JSON, up to 1 MiB; kept with the execution.")] = (
        UNSET
    )


class FailMessage(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """This attempt has failed; retryable says whether another may fare better."""

    token: Token
    error: Annotated[str, Meta(min_length=1)]
    retryable: bool = True
    retry_after: Duration | None = None


class ExtendMessage(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """For how long from now it is to be kept."""

    token: Token
    lease: Duration = "PT30S"


class ReleaseMessage(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The token of the message."""

    token: Token


class MessageStatus(msgspec.Struct, frozen=True, kw_only=True):
    """The status of the execution after the call."""

    id: UUID
    status: Literal["succeeded", "failed", "expired", "retrying", "released"]


class MessageLease(msgspec.Struct, frozen=True, kw_only=True):
    """Until when it is kept."""

    id: UUID
    lease_expires_at: datetime


@acts("/queues/{queue:str}/claim", "Claim due executions from a pulled queue", 404, 409, scope="operate")
async def claim(
    request: ApiRequest,
    queue: QueueName,
    data: JSONBody[ClaimMessages],
    database: Pooled,
    arrivals: Waiting,
    authentication: NamedDependency[Authentication],
) -> Messages:
    """Returns executions, each with a lease and a token. Those not settled before the lease expires are handed out
    again."""
    lease, wait = _length("lease", data.lease), _length("wait", data.wait)
    if wait > LONGEST_WAIT:
        raise InvalidInput(f"wait can be at most {LONGEST_WAIT.total_seconds():g} s: write PT60S, and ask again")

    async def ask() -> list[Message]:
        return await database.ask(messages.claim, queue, worker=data.worker, batch=data.batch, lease=lease)

    async def ask_again() -> list[Message]:
        await check_still(authentication, request)
        return await ask()

    found = await ask()
    if not found and wait:
        number = await database.ask(messages.first_partition, queue)
        async with arrivals.queue(queue, number or 0) as place:
            found = await _claim_later(request, place, ask_again, wait.total_seconds())
    return Messages(items=found)


async def _claim_later(
    request: ApiRequest, queue: Queue, ask: Callable[[], Awaitable[list[Message]]], seconds: float
) -> list[Message]:
    """Waits for something to be due; no longer than the caller does."""
    until = time.monotonic() + seconds
    # After the body nothing comes but the end of the connection.
    gone: asyncio.Future[Any] = asyncio.ensure_future(request.receive())
    try:
        while not gone.done() and (left := until - time.monotonic()) > 0:
            if await _turn(queue, gone, left) and (found := await ask()):
                return found
    finally:
        queue.wake_one()  # there may be more, or this one was refused when it was its turn
        gone.cancel()
    return []


async def _turn(queue: Queue, gone: asyncio.Future[Any], seconds: float) -> bool:
    """Whether it is this request's turn to claim."""
    turn = asyncio.create_task(queue.wait(seconds))
    await asyncio.wait({turn, gone}, return_when=asyncio.FIRST_COMPLETED)
    if turn.done():
        return True
    turn.cancel()
    return False


@acts(
    "/executions/{execution_id:str}/complete",
    "Complete a claimed or deferred execution",
    404,
    409,
    scope="operate",
)
async def complete(execution_id: ExecutionId, data: JSONBody[CompleteMessage], database: Pooled) -> MessageStatus:
    result = None if isinstance(data.result, UnsetType) else bytes(data.result).decode()
    await database.ask(messages.complete, execution_id, _token(data.token), result)
    return MessageStatus(id=execution_id, status="succeeded")


@acts(
    "/executions/{execution_id:str}/fail",
    "Fail a claimed or deferred execution",
    404,
    409,
    scope="operate",
)
async def fail(execution_id: ExecutionId, data: JSONBody[FailMessage], database: Pooled) -> MessageStatus:
    """Its options decide what follows, as after a failed call."""
    after = None if data.retry_after is None else _length("retry_after", data.retry_after)
    failure = Failure(error=data.error, retryable=data.retryable, retry_after=after)
    status = await database.ask(messages.fail, execution_id, _token(data.token), failure)
    return msgspec.convert({"id": execution_id, "status": status}, MessageStatus)


@acts(
    "/executions/{execution_id:str}/extend",
    "Extend the lease of a claimed or deferred execution",
    404,
    409,
    scope="operate",
)
async def extend(execution_id: ExecutionId, data: JSONBody[ExtendMessage], database: Pooled) -> MessageLease:
    token, lease = _token(data.token), _length("lease", data.lease)
    until = await database.ask(messages.extend, execution_id, token, lease)
    return MessageLease(id=execution_id, lease_expires_at=until)


@acts("/executions/{execution_id:str}/release", "Release a claimed execution", 404, 409, scope="operate")
async def release(execution_id: ExecutionId, data: JSONBody[ReleaseMessage], database: Pooled) -> MessageStatus:
    """As if it had not been claimed."""
    await database.ask(messages.release, execution_id, _token(data.token))
    return MessageStatus(id=execution_id, status="released")


def _token(text: str) -> int:
    """A token that no lease has where the text is no token."""
    return min(int(text), 2**63 - 1)


def _length(name: str, text: str) -> timedelta:
    try:
        return length_of(text)
    except InvalidSchedule as error:
        raise InvalidInput(f"{name}: {error}") from None
