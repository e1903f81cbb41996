"""An exchange: one request, and the part of its response that has been received."""

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pgsched.delivery.exception_outcomes import OutcomeException, describe
from pgsched.domain.attempt_outcome import Failed

if TYPE_CHECKING:
    from pgsched.delivery.connection import Connection


@dataclass(slots=True, eq=False)
class Exchange:
    """One request and its response. An exchange belongs to the task that awaits its ``turn``. ``turn`` resolves to True
    if a slot for a new connection is reserved, and to False if the exchange is over, with a ``status`` or an ``error``.

    - ``expires`` is the time on the loop's clock at which the exchange ends in any case.
    - ``status`` is 0 until the head of the response is complete.
    - ``received``, ``headers`` and ``length`` count bytes, header lines and bytes of the body. ``pieces`` are the parts
      of the body that are kept; at the end they become ``body``.
    - ``again`` is true if the request was already sent on a connection that turned out to be closed.
    - ``once`` is true if the request must be sent on a fresh connection. If a used connection closes without a
      response, it is unknown whether the request was accepted.
    - ``keeps`` is the number of bytes of the body that are kept if the callback succeeds.
    - ``told`` contains the headers that are needed to describe an error. ``address`` is where a redirect leads.
    """

    request: bytes
    turn: asyncio.Future[bool]
    bodiless: bool
    once: bool
    deadline: float
    expires: float
    connection: "Connection | None" = None
    error: Exception | None = None
    status: int = 0
    received: int = 0
    headers: int = 0
    length: int = 0
    reason: bytes = b""
    pieces: list[bytes] | None = None
    body: bytes = b""
    retry_after: bytes | None = None
    told: dict[bytes, bytes] | None = None
    address: bytes = b""
    complete: bool = False
    again: bool = False
    keeps: int = 0

    def end(self, error: Exception | None = None) -> None:
        """Ends the exchange. The error is ignored if a status has arrived."""
        self.connection, self.request = None, b""
        if self.pieces is not None:
            self.body, self.pieces = b"".join(self.pieces), None
        if not self.status:
            self.error = error
        if not self.turn.done():
            self.turn.set_result(False)

    def offer_slot(self) -> bool:
        """Offers the exchange a slot for a new connection. Returns False if the exchange is no longer awaited."""
        if self.turn.done():
            return False
        self.turn.set_result(True)
        return True


class DeliveryFailed(OutcomeException):
    """The request or its response was lost. Another attempt may succeed."""

    def __init__(self, message: str) -> None:
        super().__init__(message, Failed(error=message, retryable=True))


class NoAnswer(DeliveryFailed):
    """The head of the response did not arrive in time."""

    def __init__(self, deadline: float) -> None:
        super().__init__(f"no answer within {deadline:g} s")


class Dropped(DeliveryFailed):
    """The connection ended before the head of a response was complete."""

    def __init__(self, received: int, cause: BaseException | None) -> None:
        when = "in the middle of the response head" if received else "before a response"
        because = f": {describe(cause)}" if cause else ""
        super().__init__(f"the connection was closed {when}{because}")


class Malformed(DeliveryFailed):
    """The received bytes are not exactly one HTTP response."""

    def __init__(self, why: str) -> None:
        super().__init__(f"the response is malformed: {why}")
