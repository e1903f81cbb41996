"""Registered handlers. A function's parameters are examined once, when it is registered."""

import inspect
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import orjson

from pgsched.delivery.middleware import Middleware, within, within_thread
from pgsched.delivery.payload_types import Decode, decoder_of
from pgsched.delivery.reporting import DONE, Reporter, checked_checkpoint, checked_progress
from pgsched.domain.execution import ClaimedExecution, uuid_text
from pgsched.errors import InvalidInput

_SHORTEST = timedelta(seconds=0.1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """The execution that a handler is called for.

    ``attempt`` and ``delivery_count`` count from 1. ``delivery_count`` also counts calls that were snoozed, or that
    were cut short because a worker was lost or stopped. ``scheduled_for`` is in UTC. ``job_id`` is None unless the
    execution is a run of a job. ``traceparent`` is None if the caller gave no trace. A Context created by hand checks
    progress and checkpoints but does not store them.
    """

    execution_id: str
    attempt: int
    scheduled_for: datetime
    client: str
    key: str | None
    job_id: str | None = None
    traceparent: str | None = None
    delivery_count: int = 1
    reporter: Reporter | None = field(default=None, repr=False, compare=False)

    def progress(self, fraction: float, note: str | None = None) -> Awaitable[None]:
        """Reports progress from 0 to 1, with a note of up to 200 characters: ``await context.progress(0.4, "4,000 of
        10,000")``. Handlers in threads omit the ``await``. Progress is stored at most once a second. Each report counts
        as a heartbeat.

        Raises InvalidInput for an invalid fraction or note.
        """
        checked = checked_progress(fraction, note)
        return DONE if self.reporter is None else self.reporter.progress(*checked)

    def checkpoint(self, value: Any) -> Awaitable[None]:
        """Stores a JSON value of up to 64 KiB, which later attempts of the execution receive as ``checkpoint``. The
        value is stored once the awaitable is done or, in a thread, once the call returns.

        Raises InvalidInput if the value cannot be stored, and StaleLease if another worker now has the execution.
        """
        checked = checked_checkpoint(value)
        return DONE if self.reporter is None else self.reporter.checkpoint(checked)


class Handler:
    """A registered function and how to call it.

    ``payload_name`` and ``context_name`` are the names of the parameters for the payload and the context, or None.
    ``decode`` converts a payload to the annotated type; it is None if the function takes plain values. ``clients`` are
    the clients that may use the handler; None means all. ``around`` is the application's middleware. An attempt fails
    if the handler reports nothing for ``heartbeat`` seconds.
    """

    def __init__(
        self,
        name: str,
        function: Callable[..., Any],
        clients: frozenset[str] | None = None,
        around: Sequence[Middleware] = (),
        heartbeat: float | None = None,
    ) -> None:
        self.name, self.function, self.clients, self.around = name, function, clients, around
        self.is_async, self.heartbeat = _is_async(function), heartbeat
        self.payload_name: str | None = None
        self.context_name: str | None = None
        self.decode: Decode | None = None
        self.wants_connection = self.wants_checkpoint = False
        for parameter in _parameters(name, function):
            self._take(parameter)
        self.wants_nothing = not (
            self.payload_name or self.context_name or self.wants_checkpoint or around or heartbeat
        )
        if heartbeat is not None and not self.is_async:
            raise InvalidInput(
                f"the handler {name!r} is not async but has a heartbeat, and threads cannot be stopped: define it "
                "with async def, and make sure that its decorators return async functions"
            )
        if self.wants_connection and not self.is_async:
            raise InvalidInput(
                f"the handler {name!r} is not async but takes the connection, which is asynchronous: define it "
                "with async def, and make sure that its decorators return async functions"
            )

    def call(
        self,
        execution: ClaimedExecution,
        reporter: Reporter | None = None,
        in_loop: Callable[[Any], Any] = lambda answer: answer,
        **given: Any,
    ) -> Any:
        """Calls the function within the application's middleware or, if the function is async, returns a coroutine that
        does so. ``given`` contains the connection and the checkpoint, if the function takes them. The result of a
        function that is not async is passed to ``in_loop``, because the result may have to be awaited."""

        def call() -> Any:
            answer = self.function(**self.arguments(execution, reporter), **given)
            return answer if self.is_async else in_loop(answer)

        if not self.around and self.decode is None:
            return call()
        return (within if self.is_async else within_thread)(self.around, context_of(execution, reporter), call)

    def arguments(self, execution: ClaimedExecution, reporter: Reporter | None = None) -> dict[str, Any]:
        """Returns the payload and the context as keyword arguments, if the function takes them. Raises FinalFailure if
        the payload does not match the annotation."""
        wanted: dict[str, Any] = {}
        if self.payload_name is not None:
            wanted[self.payload_name] = self.decode(execution.payload) if self.decode else execution.decode_payload()
        if self.context_name is not None:
            wanted[self.context_name] = context_of(execution, reporter)
        return wanted

    def not_for(self, client: str) -> str:
        """Returns the error for a client that may not use the handler. The error names the clients that may use it."""
        allowed = ", ".join(sorted(self.clients or ())[:10])
        return f"the handler {self.name!r} does not serve client {client!r}: its clients are {allowed}"

    def _take(self, parameter: inspect.Parameter) -> None:
        optional = parameter.default is not inspect.Parameter.empty
        if parameter.kind in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD):
            return
        if parameter.kind is inspect.Parameter.POSITIONAL_ONLY:
            raise InvalidInput(f"the handler {self.name!r} has positional-only parameters: leave out the /")
        by_position = parameter.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
        if parameter.name == "connection":
            self.wants_connection = True
        elif parameter.name == "checkpoint":
            self.wants_checkpoint = True
        elif parameter.name == "context" and self.context_name is None:
            self.context_name = parameter.name
        elif by_position and self.payload_name is None and not (optional and self.context_name):
            self.payload_name = parameter.name
            self.decode = decoder_of(self.name, self.function, parameter)
        elif by_position and self.context_name is None and not optional:
            self.context_name = parameter.name
        elif not optional:
            raise InvalidInput(
                f"the handler {self.name!r} has a parameter {parameter.name!r} that pgsched cannot fill: "
                "declare it as (payload) or (payload, context); it may also take connection, to write in the "
                "transaction that completes the execution, and checkpoint, to resume where an earlier attempt stopped"
            )


def _parameters(name: str, function: Callable[..., Any]) -> Iterable[inspect.Parameter]:
    """Returns the function's parameters. Raises InvalidInput if they cannot be determined."""
    try:
        found = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        raise InvalidInput(f"the handler {name!r} cannot be {function!r:.80}: register a function") from None
    if isinstance(function, type):
        raise InvalidInput(f"the handler {name!r} is a class: register a function or a callable object")
    kinds = {parameter.kind for parameter in found}
    if kinds and kinds <= {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}:
        raise InvalidInput(
            f"the handler {name!r} has no named parameter: write (payload), and use functools.wraps in decorators, "
            "so that the function's parameters are visible"
        )
    return found


def checked_clients(clients: Iterable[str] | None) -> frozenset[str] | None:
    """Returns the clients as a set. Raises InvalidInput if they are invalid. A single string is invalid, because it is
    probably a mistake."""
    if clients is None:
        return None
    found = frozenset(() if isinstance(clients, str) else clients)
    if not found or not all(isinstance(client, str) and 1 <= len(client) <= 100 for client in found):
        raise InvalidInput(
            "clients must be a list of at least one name, such as clients=['shop']; leave it out to allow all clients"
        )
    return found


def checked_heartbeat(heartbeat: timedelta | None) -> float | None:
    """Returns the heartbeat in seconds. Raises InvalidInput unless it is a timedelta of at least 0.1 s."""
    if heartbeat is None:
        return None
    if not isinstance(heartbeat, timedelta) or heartbeat < _SHORTEST:
        raise InvalidInput("heartbeat must be a timedelta of at least 0.1 s, such as timedelta(seconds=30)")
    return heartbeat.total_seconds()


def context_of(execution: ClaimedExecution, reporter: Reporter | None = None) -> Context:
    return Context(
        execution_id=execution.uuid,
        attempt=execution.attempt,
        scheduled_for=execution.nominal,
        client=execution.client_id,
        key=execution.key,
        job_id=None if execution.job_id is None else uuid_text(execution.job_id),
        traceparent=_traceparent_in(execution.options),
        delivery_count=execution.delivery_count,
        reporter=reporter,
    )


def _traceparent_in(options: bytes | None) -> str | None:
    """Returns the execution's traceparent. Only the execution's own options can contain it, because it has no
    default."""
    return None if options is None or b'"traceparent"' not in options else orjson.loads(options).get("traceparent")


def _is_async(function: Callable[..., Any]) -> bool:
    if inspect.isasyncgenfunction(function) or inspect.isgeneratorfunction(function):
        raise InvalidInput(f"{function!r} is a generator: a handler must return once, without yield")
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)
