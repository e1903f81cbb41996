"""Chooses the channel of an execution by its target's scheme."""

from collections.abc import Coroutine, Mapping
from typing import Any

from pgsched.delivery.channel import Channel
from pgsched.domain.execution import Execution
from pgsched.domain.outcome import Failed, Outcome
from pgsched.domain.policy import Options
from pgsched.domain.target import Scheme

_NOT_PULLED = "workers serve this queue, and queue: targets are for consumers: schedule them in a queue that is pulled"


class Undelivered:
    """The channel of targets that no worker can deliver."""

    async def deliver(self, execution: Execution, options: Options, deadline: float) -> Outcome:
        """Answers with a final failure that says so."""
        scheme = execution.target.partition(":")[0]
        if scheme == Scheme.QUEUE:
            return Failed(error=_NOT_PULLED, retryable=False)
        return Failed(error=f"no worker can deliver {scheme}: targets", retryable=False)

    async def close(self) -> None:
        """Nothing is held open."""


class Channels:
    """All channels of a worker, itself a channel. ``capabilities`` are those that its settings give it, beside its
    handlers."""

    def __init__(
        self,
        *,
        http: Channel,
        python: Channel,
        others: Mapping[str, Channel] | None = None,
        capabilities: frozenset[str] = frozenset(),
    ) -> None:
        self.capabilities = capabilities
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
