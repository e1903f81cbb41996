"""The protocol of channels, and ``Channels``, which chooses a channel by the target's scheme.

A channel delivers one execution to its target and returns an Outcome. It raises only CancelledError (if its caller ends
the attempt) and NoFreeSlot (before the attempt has begun). All other exceptions become outcomes in
``exception_outcomes.outcome_of``.
"""

from collections.abc import Callable, Collection, Coroutine, Mapping
from typing import Any, Protocol

from pgsched.domain.attempt_outcome import Failed, Outcome, Undeliverable
from pgsched.domain.execution import ClaimedExecution
from pgsched.domain.execution_options import Options
from pgsched.domain.target import Scheme

_NOT_PULLED = "a queue: target is for consumers, but workers serve this queue; schedule it in a pulled queue"


class Channel(Protocol):
    """Delivers executions. A channel opens its connections at its first attempt, not when the worker starts."""

    async def deliver(self, execution: ClaimedExecution, options: Options, deadline: float) -> Outcome:
        """Makes one attempt. The caller cancels the attempt after ``deadline`` seconds; other attempts must not be
        affected.

        Raises NoFreeSlot if the attempt cannot begin now. Raises CancelledError only if the caller cancels: a
        CancelledError from a library, for example for a lost connection, must be caught.
        """
        ...

    async def close(self) -> None:
        """Closes the channel's connections. All attempts must have ended."""
        ...


class Channels:
    """All channels of a worker, as one channel. ``capabilities`` are those that come from the worker's settings rather
    than its handlers. ``allowed`` returns the channels that a client may use; None means all."""

    def __init__(
        self,
        *,
        http: Channel,
        python: Channel,
        others: Mapping[str, Channel] | None = None,
        allowed: Callable[[str], Collection[str] | None] = lambda _: None,
        capabilities: frozenset[str] = frozenset(),
    ) -> None:
        self.capabilities, self._allowed = capabilities, allowed
        self._distinct = (http, python, *(others or {}).values())
        self._by_scheme: dict[str, Channel] = {Scheme.HTTP: http, Scheme.HTTPS: http, Scheme.PYTHON: python}
        self._by_scheme.update(others or {})

    def deliver(self, execution: ClaimedExecution, options: Options, deadline: float) -> Coroutine[Any, Any, Outcome]:
        """Makes one attempt over the channel for the target's scheme."""
        scheme = execution.target.partition(":")[0]
        allowed = self._allowed(execution.client_id)
        if allowed is not None and _name(scheme) not in allowed and execution.target not in allowed:
            return _not_allowed(execution.client_id, _name(scheme), allowed)
        channel = self._by_scheme.get(scheme) or self._by_scheme.get(scheme.lower())
        return _undelivered(scheme) if channel is None else channel.deliver(execution, options, deadline)

    async def close(self) -> None:
        for channel in self._distinct:
            await channel.close()


def _name(scheme: str) -> str:
    return Scheme.HTTP if scheme.lower() == Scheme.HTTPS else scheme.lower()


async def _not_allowed(client: str, channel: str, allowed: Collection[str]) -> Outcome:
    """Returns a failure without a retry, because another attempt would fail too. Once the channel is allowed, the dead
    letter can be replayed."""
    others = ", ".join(sorted(allowed))
    error = f"client {client!r} is not allowed to use {channel} targets: its channels are {others}"
    return Failed(error=error, retryable=False)


async def _undelivered(scheme: str) -> Outcome:
    """Returns the outcome for a scheme without a channel. Workers of a later release may know the scheme."""
    if scheme == Scheme.QUEUE:
        return Failed(error=_NOT_PULLED, retryable=False)
    return Undeliverable(capability=f"{scheme}:")
