"""Methods for consumers, which claim messages from a queue and report results; shared by both clients.

for message in client.consume("orders", worker="svc-1"):
    try:
        settle(message.payload)
    except Exception as error:
        client.fail(message, repr(error))
    else:
        client.complete(message)
"""

from dataclasses import dataclass
from datetime import datetime
from types import NoneType
from typing import Any, TypeVar

from pgsched.client.requests import Call, Id, Length, WrongArgument, body, identity, path, present
from pgsched.client.sync_async_methods import method
from pgsched.domain.duration import length_of
from pgsched.errors import InvalidInput
from pgsched.store.pull.claiming import Message

_Answer = TypeVar("_Answer")
_MARGIN = 10.0  # seconds that a response may take beyond the requested wait


@dataclass(frozen=True, slots=True, kw_only=True)
class Ticket:
    """A deferred execution: its id, and the token that the target received with the call."""

    id: Id
    token: str | int


Held = Message | Ticket


class PullMethods:
    """Methods for consumers, and for targets that complete an execution later; shared by both clients."""

    @method
    def claim(
        self, queue: str, *, worker: str, batch: int = 1, lease: Length = "30s", wait: Length = "0s"
    ) -> Call[list[Message]]:
        """Claims due messages from a pulled queue, each under a lease. If no message is due, waits for up to ``wait``
        (at most 60 s), and returns an empty list if none becomes due."""
        return claim(queue, worker, batch, lease, wait)

    @method
    def complete(self, message: Held, result: Any = None) -> Call[None]:
        """Reports success. Raises StaleLease if another consumer now holds the message, or if the message has ended."""
        return _report(message, "complete", NoneType, result=result)

    @method
    def fail(
        self, message: Held, error: str, *, retryable: bool = True, retry_after: Length | None = None
    ) -> Call[str]:
        """Reports that this attempt failed. Returns the new status: ``retrying``, ``failed`` or ``expired``."""
        said = {"error": error, "retryable": retryable, "retry_after": retry_after}
        return _report(message, "fail", str, "status", **said)

    @method
    def extend(self, message: Held, lease: Length = "30s") -> Call[datetime]:
        """Extends the lease to end ``lease`` from now. Returns the new end."""
        return _report(message, "extend", datetime, "lease_expires_at", lease=lease)

    @method
    def release(self, message: Held) -> Call[None]:
        """Returns the message to the queue as if it had never been claimed."""
        return _report(message, "release", NoneType)


def claim(queue: str, worker: str, batch: int, lease: Length, wait: Length) -> Call[list[Message]]:
    asked = body({"worker": worker, "batch": batch, "lease": lease, "wait": wait})
    patience = _MARGIN + length_of(wait, "wait").total_seconds()
    return Call("POST", path("queues", queue, "claim"), list[Message], "items", body=asked, timeout=patience)


def claim_for_ever(queue: str, worker: str, batch: int, lease: Length, wait: Length) -> Call[list[Message]]:
    """The request that ``consume`` repeats. Raises InvalidInput if ``wait`` is less than a second."""
    if length_of(wait, "wait").total_seconds() < 1:
        raise InvalidInput(
            'wait must be at least 1 s, such as wait="20s", because otherwise an empty queue is polled in a tight loop'
        )
    return claim(queue, worker, batch, lease, wait)


def _report(held: Held, verb: str, answer: type[_Answer], field: str | None = None, **said: Any) -> Call[_Answer]:
    if not isinstance(held, Message | Ticket):
        raise WrongArgument(f"message cannot be {held!r:.80}: give a Message that was claimed, or a Ticket")
    verb_path = path("executions", identity(held.id), verb)
    return Call("POST", verb_path, answer, field, body={"token": str(held.token), **body(present(said))})
