"""Isolates attempts that run in the same task, so that nothing that one attempt leaves behind affects the next.

A lane runs one attempt after another in its task. A handler, its middleware, or its payload and result types may set
context variables, including decimal's context, and some libraries tie sessions to the current task. None of this may
outlive the attempt. So the lane continues in a new task if the handler has set a context variable, waited, raised, or
renamed the task.
"""

import asyncio
import decimal
from contextvars import Context, ContextVar, copy_context
from operator import is_
from typing import Any

UNUSED = "pgsched lane"
"""The name of a lane's task until a handler leaves something in the task."""


def own_context() -> Context:
    """Returns a copy of the current context. decimal's context is mutable, so it is copied too."""
    context = copy_context()
    if _DECIMAL in context:
        context.run(_copy_decimal)
    return context


def context_of_lanes() -> Context:
    """Returns a copy of the current context. Leaves out decimal's context if it has its default settings, so that it
    need not be compared after each attempt."""
    context = copy_context()
    if _DECIMAL not in context or _settings(context[_DECIMAL]) != _settings(decimal.DefaultContext):
        return context
    found = Context()
    for variable, value in context.items():
        if variable is not _DECIMAL:
            found.run(variable.set, value)
    return found


def _settings(context: decimal.Context) -> tuple[Any, ...]:
    return (*(getattr(context, name) for name in ("prec", "rounding", "Emin", "Emax", "capitals", "clamp", "traps")),)


class _Step:
    """A step of the event loop. The step is over when the loop has called everything that was scheduled when the step
    began."""

    __slots__ = ("is_over",)

    def __init__(self) -> None:
        self.is_over = False


class Leftovers:
    """Detects whether an attempt has left anything in its task. All tasks have the same context variables when an
    attempt begins. ``step`` is the event loop's current step if an attempt has begun in that step. The usual case, in
    which nothing is left, is cheap to detect: the step is not over, and there are no context variables."""

    __slots__ = ("_before", "step")

    def __init__(self) -> None:
        self.step: _Step | None = None
        self._before: Context | None = None

    def begin(self) -> _Step:
        """Begins a step, which all attempts that begin during the step share."""
        # An attempt that waits continues only after ``_end_step``, because the loop runs callbacks in the order in
        # which they were scheduled.
        step = self.step = _Step()
        asyncio.get_running_loop().call_soon(self._end_step, context=_NOTHING)
        self._before = self._before or own_context()
        return step

    def end(self, step: _Step) -> None:
        """Ends an attempt that began in this step. If it left anything in the lane's task, abandons the task."""
        if step.is_over or not _is_as_before(copy_context(), self._before or _NOTHING):
            leave_task()

    def _end_step(self) -> None:
        if self.step is not None:
            self.step.is_over, self.step = True, None


def _is_as_before(now: Context, before: Context) -> bool:
    """Whether both contexts have the same variables and values. Compares by identity, because some values, such as
    arrays, cannot be compared for equality. decimal's context is compared by its settings, because each task has its
    own copy."""
    if len(now) != len(before) or not all(map(is_, now, before)):
        return False
    return all(
        one is other or (variable is _DECIMAL and _are_alike(one, other))
        for variable, one, other in zip(now, now.values(), before.values(), strict=True)
    )


def _are_alike(one: decimal.Context, other: decimal.Context) -> bool:
    return _settings(one) == _settings(other) and one.flags == other.flags


def leave_task() -> None:
    """Makes the lane continue in another task, by renaming the current task."""
    task = asyncio.current_task()
    if task is not None and task.get_name() == UNUSED:
        task.set_name("pgsched handler")


def _copy_decimal() -> None:
    decimal.setcontext(decimal.getcontext().copy())


def _variable_of_decimal() -> ContextVar[Any]:
    """Finds the context variable that holds decimal's context, which the module does not expose."""
    empty = Context()
    empty.run(decimal.getcontext)
    return next(iter(empty), ContextVar("absent"))


_NOTHING = Context()
_DECIMAL = _variable_of_decimal()
