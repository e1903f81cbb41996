"""Calls Python handlers: functions of the application that run in the worker's own process.

Async handlers run on the worker's event loop, and other handlers run in its threads. A thread cannot be interrupted, so
an attempt fails at its deadline although the function may still be running. The writes of a handler that takes the
``connection`` are committed in the same transaction as the completion of its execution.
"""

import asyncio
from collections.abc import Callable, Coroutine
from contextvars import copy_context
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pgsched.delivery.app import App
from pgsched.delivery.failure_log import FailureLog, Raised, traceback_of
from pgsched.delivery.handler_call import Handler
from pgsched.delivery.isolated_handlers import LOSSES, Isolation
from pgsched.delivery.own_context import Leftovers, leave_task, own_context
from pgsched.delivery.reporting import HandlerReports, Reporter, beating
from pgsched.delivery.returned_values import DONE, FinishedInLoop, finished, succeeded
from pgsched.delivery.slots import NoFreeSlot
from pgsched.delivery.threads import Threads
from pgsched.domain.attempt_outcome import AlreadySettled, Failed, Outcome, Succeeded, Undeliverable, escaped
from pgsched.domain.execution import ClaimedExecution
from pgsched.domain.execution_options import Options

if TYPE_CHECKING:  # not imported at run time: a service that only schedules needs no connection pool
    from pgsched.delivery.handler_transaction import TransactionalCompletion

_PREFIX = len("python:")


class PythonChannel:
    """Calls python: targets. Functions that are not async run in ``threads``, which the caller shuts down.
    ``tracebacks`` is the number of characters of a failure's traceback that are stored. ``reports`` stores the progress
    and checkpoints of handlers. ``isolation``, if given, calls executions that were repeatedly lost with their
    worker."""

    def __init__(
        self,
        app: App,
        *,
        completion: "TransactionalCompletion",
        threads: Threads,
        failures: FailureLog,
        tracebacks: int = 0,
        reports: HandlerReports | None = None,
        isolation: Isolation | None = None,
    ) -> None:
        self._handlers, self._completion, self._threads = app.handlers, completion, threads
        self._failures, self._tracebacks = failures, tracebacks
        self._reports, self._traces, self._isolation = reports, Leftovers(), isolation

    async def deliver(self, execution: ClaimedExecution, options: Options, deadline: float) -> Outcome:
        """Calls the handler once. The caller cancels the call when the deadline has passed. Raises NoFreeSlot if the
        handler needs a thread or a connection and none is free."""
        handler = self._handlers.get(execution.target[_PREFIX:])
        if handler is None:
            return Undeliverable(capability=execution.target)  # another worker may have the handler
        if handler.clients is not None and execution.client_id not in handler.clients:
            return Failed(error=handler.not_for(execution.client_id), retryable=False)
        if execution.losses and execution.losses >= LOSSES and self._isolation is not None:
            return await self._isolation.deliver(execution, options, deadline)
        traces = self._traces
        begun = traces.step or traces.begin() if handler.is_async or handler.wants_connection else None
        try:
            if handler.wants_connection:
                return await self._in_transaction(handler, execution)
            if begun is None:
                return await self._in_thread(handler, execution)
            result = await (handler.function() if handler.wants_nothing else self._called(handler, execution))
            return DONE if result is None else succeeded(await finished(result))
        except (NoFreeSlot, asyncio.CancelledError):
            raise
        except BaseException as error:
            # BaseException, because a handler that calls exit() must end its attempt, not the worker.
            if begun is not None:  # libraries may tie unfinished work, such as a session with new rows, to the task
                leave_task()
            return self._ended_by(Raised(error), execution)
        finally:
            if begun is not None and (begun.is_over or copy_context()):
                traces.end(begun)

    async def close(self) -> None:
        if self._isolation is not None:
            await self._isolation.close()

    def _ended_by(self, raised: Raised, execution: ClaimedExecution) -> Outcome:
        if not isinstance(raised.outcome, Failed):
            return raised.outcome
        self._failures.note(execution, raised)
        if not self._tracebacks:
            return raised.outcome
        return replace(raised.outcome, traceback=escaped(traceback_of(raised, self._tracebacks)))

    def _called(self, handler: Handler, execution: ClaimedExecution, **given: Any) -> Coroutine[Any, Any, Any]:
        """Returns the coroutine of an async handler, with all arguments that the handler takes."""
        if handler.wants_checkpoint or handler.heartbeat:
            return self._attended(handler, execution, given)
        called: Coroutine[Any, Any, Any] = handler.call(execution, self._reporter_of(handler, execution), **given)
        return called

    async def _attended(self, handler: Handler, execution: ClaimedExecution, given: dict[str, Any]) -> Any:
        if handler.wants_checkpoint:
            given["checkpoint"] = await self._checkpoint_of(execution)
        if handler.heartbeat is None:
            return await handler.call(execution, self._reporter_of(handler, execution), **given)

        def call(beat: Callable[[], None]) -> Coroutine[Any, Any, Any]:
            called: Coroutine[Any, Any, Any]
            called = handler.call(execution, self._reporter_of(handler, execution, beat), **given)
            return called

        return await beating(handler.heartbeat, call)

    def _reporter_of(
        self, handler: Handler, execution: ClaimedExecution, beat: Callable[[], None] = lambda: None
    ) -> Reporter | None:
        """Returns the reporter for a handler, or None if the handler cannot report because it has no context."""
        if self._reports is None or not (handler.context_name or handler.around):
            return None
        return Reporter(self._reports, execution, beat)

    async def _checkpoint_of(self, execution: ClaimedExecution) -> Any:
        return None if self._reports is None else await self._reports.read(execution)

    async def _in_transaction(self, handler: Handler, execution: ClaimedExecution) -> Outcome:
        slots = self._completion.slots
        slots.take(execution.client_id)
        try:
            async with self._completion.settle_in_transaction(execution) as connection:
                await finished(self._called(handler, execution, connection=connection))
        finally:
            slots.give_back(execution.client_id)
        return AlreadySettled()

    async def _in_thread(self, handler: Handler, execution: ClaimedExecution) -> Outcome:
        """Calls the function in a thread, where the payload is also decoded and the result encoded. If the function
        returns an awaitable, the loop awaits it before the middleware exits."""
        given = {"checkpoint": await self._checkpoint_of(execution)} if handler.wants_checkpoint else {}
        reporter = self._reporter_of(handler, execution)
        self._threads.take(execution.client_id)
        in_loop = FinishedInLoop()

        def work() -> Succeeded:
            return succeeded(handler.call(execution, reporter, in_loop, **given))

        try:
            answer = await self._threads.call(execution.client_id, work, own_context(), id=execution.id)
        except asyncio.CancelledError:
            in_loop.cancel()
            raise
        return self._ended_by(answer, execution) if isinstance(answer, Raised) else answer
