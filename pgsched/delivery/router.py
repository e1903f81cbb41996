"""Takes each execution to the channel of its target's scheme."""

from collections.abc import Coroutine, Mapping
from typing import Any

from pgsched.delivery.channel import Channel
from pgsched.domain.execution import Execution
from pgsched.domain.outcome import Failed, Outcome
from pgsched.domain.policy import Options
from pgsched.domain.target import Scheme

_NOT_PULLED = "queue: targets wait for consumers in a queue that is pulled: schedule them there, this one workers serve"


class Undelivered:
    """The channel of targets that this release's workers do not deliver to."""

    async def deliver(self, execution: Execution, options: Options, deadline: float) -> Outcome:
        """A final failure that says so."""
        scheme = execution.target.partition(":")[0]
        if scheme == Scheme.QUEUE:
            return Failed(error=_NOT_PULLED, retryable=False)
        return Failed(error=f"{scheme}: targets are not delivered by this release's workers", retryable=False)

    async def close(self) -> None:
        """Nothing is held open."""


class Channels:
    """All channels of a worker, itself a channel."""

    def __init__(self, *, http: Channel, python: Channel, others: Mapping[str, Channel] | None = None) -> None:
        self._distinct = (http, python, *(others or {}).values())
        self._undelivered = Undelivered()
        self._by_scheme: dict[str, Channel] = {Scheme.HTTP: http, Scheme.HTTPS: http, Scheme.PYTHON: python}
        self._by_scheme.update(others or {})

    def deliver(self, execution: Execution, options: Options, deadline: float) -> Coroutine[Any, Any, Outcome]:
        """One attempt by the channel that the target's scheme names."""
        scheme = execution.target.partition(":")[0]
        channel = self._by_scheme.get(scheme) or self._by_scheme.get(scheme.lower(), self._undelivered)
        return channel.deliver(execution, options, deadline)

    async def close(self) -> None:
        for channel in self._distinct:
            await channel.close()
