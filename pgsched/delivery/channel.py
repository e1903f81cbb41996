"""The protocol of channels, the choice of one by a target's scheme, and how exceptions become outcomes.

A channel delivers one execution to its target and returns an Outcome. It never raises, except CancelledError when
its caller ends the attempt, and NoFreeSlot before anything has begun. Each channel catches all other exceptions and
passes them to ``outcome_of``, so that exceptions become outcomes in one place.
"""

from collections.abc import Callable, Coroutine, Iterator, Mapping
from typing import Any, Protocol

from pgsched.domain.execution import ClaimedExecution
from pgsched.domain.options import Options
from pgsched.domain.outcome import LONGEST_ERROR, Failed, Outcome, Postponed, Undeliverable
from pgsched.domain.target import Scheme
from pgsched.errors import PgschedError

MOST_CAUSES = 20
"""Exceptions of a chain that are examined, because a chain may be endless."""
MOST_MEMBERS = 1_000
"""Exceptions that are examined of a group, which may contain others."""
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


class Undelivered:
    """The channel of targets that this worker has no channel for."""

    async def deliver(self, execution: ClaimedExecution, options: Options, deadline: float) -> Outcome:
        """Leaves them to workers of a later release, which know schemes that this one does not."""
        scheme = execution.target.partition(":")[0]
        if scheme == Scheme.QUEUE:
            return Failed(error=_NOT_PULLED, retryable=False)
        return Undeliverable(capability=f"{scheme}:")

    async def close(self) -> None:
        """Nothing is held open."""


class Channels:
    """All channels of a worker, itself a channel. ``capabilities`` are those that its settings give it, beside its
    handlers; ``allowed`` tells which a client may use, None for all."""

    def __init__(
        self,
        *,
        http: Channel,
        python: Channel,
        others: Mapping[str, Channel] | None = None,
        allowed: Callable[[str], frozenset[str] | None] = lambda _: None,
        capabilities: frozenset[str] = frozenset(),
    ) -> None:
        self.capabilities, self._allowed = capabilities, allowed
        self._distinct = (http, python, *(others or {}).values())
        self._undelivered = Undelivered()
        self._by_scheme: dict[str, Channel] = {Scheme.HTTP: http, Scheme.HTTPS: http, Scheme.PYTHON: python}
        self._by_scheme.update(others or {})

    def deliver(self, execution: ClaimedExecution, options: Options, deadline: float) -> Coroutine[Any, Any, Outcome]:
        """One attempt by the channel that the target's scheme names."""
        scheme = execution.target.partition(":")[0]
        allowed = self._allowed(execution.client_id)
        if allowed is not None and _name(scheme) not in allowed and execution.target not in allowed:
            return _not_allowed(execution.client_id, _name(scheme), allowed)
        channel = self._by_scheme.get(scheme) or self._by_scheme.get(scheme.lower(), self._undelivered)
        return channel.deliver(execution, options, deadline)

    async def close(self) -> None:
        for channel in self._distinct:
            await channel.close()


def _name(scheme: str) -> str:
    return Scheme.HTTP if scheme.lower() == Scheme.HTTPS else scheme.lower()


async def _not_allowed(client: str, channel: str, allowed: frozenset[str]) -> Outcome:
    """For good: another attempt would find the same, and a dead letter can be replayed once it is allowed."""
    others = ", ".join(sorted(allowed))
    error = f"client {client!r} may not have {channel} targets called: its channels are {others}"
    return Failed(error=error, retryable=False)


class OutcomeException(Exception):
    """An exception that knows which outcome it stands for."""

    def __init__(self, message: str, outcome: Outcome) -> None:
        super().__init__(message)
        self.outcome = outcome


class FinalFailure(OutcomeException):
    """A failure that another try would meet again."""

    def __init__(self, message: str) -> None:
        super().__init__(message, Failed(error=message, retryable=False))


def outcome_of(error: BaseException) -> Outcome:
    """The outcome that an exception declares, or else a failure that is worth another try.

    A stale lease needs no outcome of its own: whatever is settled under its token is refused.
    """
    return declared(error) or Failed(error=describe(error), retryable=True)


def declared(error: BaseException) -> Outcome | None:
    """The outcome that an exception carries, or one of its causes, or the members of a group together; None if none
    does.

    Of a group whatever is final counts most, and a failure more than what asks for a later call, which counts only if
    all members do so: then the longest wait.
    """
    told = list(_told(error))
    if len(told) == 1:
        return told[0]
    failures = [one for one in told if not isinstance(one, Postponed)]
    if not failures:
        return max((one for one in told if isinstance(one, Postponed)), key=lambda one: one.after, default=None)
    final = [one for one in failures if isinstance(one, Failed) and not one.retryable]
    return next((one for one in final + failures if one is not None), None)


def _told(error: BaseException) -> Iterator[Outcome | None]:
    """What an exception tells, or the last of its causes and each member of its group: an outcome, or None."""
    waiting, examined = [(error, MOST_CAUSES)], 0
    while waiting and examined < MOST_MEMBERS:
        one, left = waiting.pop()
        examined += 1
        cause = cause_of(one)
        inner = members_of(one)[:MOST_MEMBERS] + (() if cause is None else (cause,))
        if issubclass(type(one), OutcomeException):
            found = vars(one).get("outcome")
            yield found if isinstance(found, Outcome) else None
        elif inner and left > 1:
            waiting += [(other, left - 1) for other in reversed(inner)]
        else:
            yield None


def members_of(error: BaseException) -> tuple[BaseException, ...]:
    """The exceptions of a group; none where it is no group."""
    return _MEMBERS.__get__(error) if issubclass(type(error), BaseExceptionGroup) else ()


def cause_of(error: BaseException) -> BaseException | None:
    """The cause of an exception, even if its class overrides ``__cause__``."""
    return _CAUSE.__get__(error)  # type: ignore[no-any-return]


def describe(error: BaseException) -> str:
    """An exception in one line: its class and its message, cut to what is kept of an error. Never raises, although the
    message may come from a handler's code."""
    try:
        said = cut(str(error))
    except BaseException:
        said = "(it cannot say what it means)"
    kind = type(error)
    if issubclass(kind, PgschedError):
        return said
    name = cut(_NAME.__get__(kind))
    return cut(f"{name}: {said}") if said else name


def cut(text: str) -> str:
    """The part of a text that is kept, as a plain string even if the text is of a subclass."""
    return str.__getitem__(text, slice(LONGEST_ERROR))


_MEMBERS = BaseExceptionGroup.__dict__["exceptions"]
_CAUSE = BaseException.__dict__["__cause__"]
_NAME = type.__dict__["__name__"]
