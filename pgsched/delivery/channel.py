"""The protocol of channels, and the choice of one by a target's scheme.

A channel delivers one execution to its target and returns an Outcome. It never raises, except CancelledError when
its caller ends the attempt, and NoFreeSlot before anything has begun. Each channel catches all other exceptions and
passes them to ``exception_outcomes.outcome_of``, so that exceptions become outcomes in one place.
"""

from collections.abc import Callable, Collection, Coroutine, Mapping
from typing import Any, Protocol

from pgsched.domain.attempt_outcome import Failed, Outcome, Undeliverable
from pgsched.domain.execution import ClaimedExecution
from pgsched.domain.execution_options import Options
from pgsched.domain.target import Scheme

_NOT_PULLED = "workers serve this queue, and queue: targets are for consumers: schedule them in a queue that is pulled"


class Channel(Protocol):
    """A way of delivering. A worker opens what a channel needs at the first attempt, not when it starts."""

    async def deliver(self, execution: ClaimedExecution, options: Options, deadline: float) -> Outcome:
        """One attempt. ``deadline`` is how many seconds from now the caller waits before it cancels; the channel must
        serve others after that. Raises NoFreeSlot where it cannot begin now, and CancelledError only when it is
        cancelled: a library that raises it for a lost connection must not be heard."""
        ...

    async def close(self) -> None:
        """Closes the connections of the channel. Attempts must have ended before."""
        ...


class Channels:
    """All channels of a worker, itself a channel. ``capabilities`` are those that its settings give it, beside its
    handlers; ``allowed`` tells which a client may use, None for all."""

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
        """One attempt by the channel that the target's scheme names."""
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
    """For good: another attempt would find the same, and a dead letter can be replayed once it is allowed."""
    others = ", ".join(sorted(allowed))
    error = f"client {client!r} may not have {channel} targets called: its channels are {others}"
    return Failed(error=error, retryable=False)


async def _undelivered(scheme: str) -> Outcome:
    """Leaves it to workers of a later release, which know schemes that this one does not."""
    if scheme == Scheme.QUEUE:
        return Failed(error=_NOT_PULLED, retryable=False)
    return Undeliverable(capability=f"{scheme}:")
