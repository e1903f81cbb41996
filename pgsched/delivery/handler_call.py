"""Registered handlers: which arguments a function takes is determined once, when it is registered."""

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
    """The execution that a handler is called for. ``attempt`` counts from 1, and so does ``delivery_count``, which also
    counts calls that were cut short by a lost or stopped worker, or snoozed; ``scheduled_for`` is in UTC. ``job_id`` is
    None but for a run of a recurring job, ``traceparent`` where the caller named no trace. What is said of one that was
    made by hand is checked, and kept nowhere."""

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
        """Says how far the execution is, from 0 to 1, and in up to 200 characters what it does: ``await
        context.progress(0.4, "4,000 of 10,000")``. It is written down once a second at most. Where the handler has a
        ``heartbeat`` it shows that the attempt goes on. In a thread there is nothing to await.

        Raises InvalidInput for what is neither.
        """
        checked = checked_progress(fraction, note)
        return DONE if self.reporter is None else self.reporter.progress(*checked)

    def checkpoint(self, value: Any) -> Awaitable[None]:
        """Keeps a JSON value, up to 64 KiB, that later attempts of the execution are given as ``checkpoint``. It is
        kept once this was awaited; in a thread, once this returns.

        Raises InvalidInput for a value that cannot be kept, StaleLease where another worker has the execution by now.
        """
        checked = checked_checkpoint(value)
        return DONE if self.reporter is None else self.reporter.checkpoint(checked)


class Handler:
    """A registered function and how to call it.

    ``payload_name`` and ``context_name`` name the parameters that take these, or are None if the function has none.
    ``decode`` makes of a payload what the function is annotated with, None where it takes plain values. ``clients`` are
    those that may have it called, None for all, and ``around`` is the application's middleware. An attempt that says
    nothing for as long as ``heartbeat``, in seconds, has failed.
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
                f"the handler {name!r} has a heartbeat but is not async: nothing can end it in its thread; write "
                "async def, for its decorators too"
            )
        if self.wants_connection and not self.is_async:
            raise InvalidInput(
                f"the handler {name!r} asks for the connection but is not async: write async def, "
                "for its decorators too, since the completion commits on an asynchronous connection"
            )

    def call(
        self,
        execution: ClaimedExecution,
        reporter: Reporter | None = None,
        in_loop: Callable[[Any], Any] = lambda answer: answer,
        **given: Any,
    ) -> Any:
        """Calls the function, or returns a coroutine that does where it is async. ``given`` are the connection and the
        checkpoint, where it takes them. What an application gave runs in that coroutine, too: its middleware, and the
        types of its payloads. Of a function that is not async, ``in_loop`` is given the answer: it may have to be
        awaited."""

        def call() -> Any:
            answer = self.function(**self.arguments(execution, reporter), **given)
            return answer if self.is_async else in_loop(answer)

        if not self.around and self.decode is None:
            return call()
        return (within if self.is_async else within_thread)(self.around, context_of(execution, reporter), call)

    def arguments(self, execution: ClaimedExecution, reporter: Reporter | None = None) -> dict[str, Any]:
        """The payload and the context, as keyword arguments. Decodes the payload only if it is wanted. Raises
        FinalFailure for one that does not fit."""
        wanted: dict[str, Any] = {}
        if self.payload_name is not None:
            wanted[self.payload_name] = self.decode(execution.payload) if self.decode else execution.decode_payload()
        if self.context_name is not None:
            wanted[self.context_name] = context_of(execution, reporter)
        return wanted

    def not_for(self, client: str) -> str:
        """Says that a client may not have it called, and which may."""
        allowed = ", ".join(sorted(self.clients or ())[:10])
        return f"the handler {self.name!r} is not for client {client!r}: its clients are {allowed}"

    def _take(self, parameter: inspect.Parameter) -> None:
        optional = parameter.default is not inspect.Parameter.empty
        if parameter.kind in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD):
            return
        if parameter.kind is inspect.Parameter.POSITIONAL_ONLY:
            raise InvalidInput(f"the handler {self.name!r} has parameters by position only: leave out the /")
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
                "write (payload), (payload, context), connection where it writes with its completion, and checkpoint "
                "where it goes on from one"
            )


def _parameters(name: str, function: Callable[..., Any]) -> Iterable[inspect.Parameter]:
    """Raises InvalidInput for what does not say what it takes."""
    try:
        found = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        raise InvalidInput(f"the handler {name!r} is {function!r:.80}: register a function") from None
    if isinstance(function, type):
        raise InvalidInput(f"the handler {name!r} is a class: register a function, or an object that can be called")
    kinds = {parameter.kind for parameter in found}
    if kinds and kinds <= {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}:
        raise InvalidInput(
            f"the handler {name!r} names no parameter: write (payload), and functools.wraps in a decorator, so that it "
            "shows what the function takes"
        )
    return found


def checked_clients(clients: Iterable[str] | None) -> frozenset[str] | None:
    """Raises InvalidInput for what cannot be clients: one text is taken for a mistake, and not for its letters."""
    if clients is None:
        return None
    found = frozenset(() if isinstance(clients, str) else clients)
    if not found or not all(isinstance(client, str) and 1 <= len(client) <= 100 for client in found):
        raise InvalidInput(
            "clients are a list of at least one name, such as clients=['shop']; all where it is left out"
        )
    return found


def checked_heartbeat(heartbeat: timedelta | None) -> float | None:
    """In seconds. Raises InvalidInput for what is no span of at least a tenth of a second."""
    if heartbeat is None:
        return None
    if not isinstance(heartbeat, timedelta) or heartbeat < _SHORTEST:
        raise InvalidInput("a heartbeat is a timedelta of at least 0.1 s, such as heartbeat=timedelta(seconds=30)")
    return heartbeat.total_seconds()


def context_of(execution: ClaimedExecution, reporter: Reporter | None = None) -> Context:
    """The context of an execution."""
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
    """It is in an execution's own options or nowhere: it cannot be a default."""
    return None if options is None or b'"traceparent"' not in options else orjson.loads(options).get("traceparent")


def _is_async(function: Callable[..., Any]) -> bool:
    if inspect.isasyncgenfunction(function) or inspect.isgeneratorfunction(function):
        raise InvalidInput(f"{function!r} is a generator: a handler returns once, so leave out the yield")
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)
