"""Isolates attempts that run in the same task, so that nothing one leaves behind affects the next.

A lane runs one attempt after another in its task. What a handler, its middleware or its payload and result types set in
context variables (one of which holds decimal's context) ends with the attempt. So does anything tied to the current
task, such as the sessions of some libraries. To achieve this, a lane continues in a new task after a handler has set a
context variable, has waited, has raised, or has renamed the task. A handler that does none of these costs no new task.
"""

import asyncio
import decimal
from contextvars import Context, ContextVar, copy_context
from operator import is_
from typing import Any

UNUSED = "pgsched lane"
"""The name of a lane's task while no handler has left anything in it."""


def own_context() -> Context:
    """A copy of the current context. decimal's context is copied too, as all copies would otherwise share that mutable
    object."""
    context = copy_context()
    if _DECIMAL in context:
        context.run(_copy_decimal)
    return context


def context_of_lanes() -> Context:
    """A copy of the current context. decimal's context is left out if it has its defaults; otherwise it would be
    compared after each attempt, used or not."""
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
    """A step of the event loop, until it has called everything that was scheduled when the step began."""

    __slots__ = ("is_over",)

    def __init__(self) -> None:
        self.is_over = False


class Leftovers:
    """Detects whether an attempt has left anything in its task. All tasks have the same context variables when an
    attempt begins. ``step`` is the current step if an attempt has begun in it. Most attempts leave nothing, which is
    known cheaply: their step has not ended, and there are no variables."""

    __slots__ = ("_before", "step")

    def __init__(self) -> None:
        self.step: _Step | None = None
        self._before: Context | None = None

    def begin(self) -> _Step:
        """Begins a step for the attempts that begin in it."""
        # An attempt that waits continues after this call, because the loop makes calls in the order of scheduling.
        step = self.step = _Step()
        asyncio.get_running_loop().call_soon(self._end_step, context=_NOTHING)
        self._before = self._before or own_context()
        return step

    def end(self, step: _Step) -> None:
        """Ends an attempt that began in this step. Renames the lane's task if the attempt left anything in it."""
        if step.is_over or not _is_as_before(copy_context(), self._before or _NOTHING):
            leave_task()

    def _end_step(self) -> None:
        if self.step is not None:
            self.step.is_over, self.step = True, None


def _is_as_before(now: Context, before: Context) -> bool:
    """Whether both have the same variables with identical objects. Equality is not enough, and arrays cannot even be
    compared. Each task has its own copy of decimal's context, so that is compared by its settings."""
    if len(now) != len(before) or not all(map(is_, now, before)):
        return False
    return all(
        one is other or (variable is _DECIMAL and _are_alike(one, other))
        for variable, one, other in zip(now, now.values(), before.values(), strict=True)
    )


def _are_alike(one: decimal.Context, other: decimal.Context) -> bool:
    return _settings(one) == _settings(other) and one.flags == other.flags


def leave_task() -> None:
    """Makes the lane continue in another task, by renaming this one."""
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
