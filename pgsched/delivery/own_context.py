"""What one attempt leaves behind, the next one does not meet.

A lane runs one attempt after another in its task. What a handler, its middleware or the types of its payload and result
set in context variables, and in decimal's context, which one of them holds, ends with the attempt. So does what they
tie to the current task, by which libraries keep sessions. To that end a lane goes on in another task once a handler has
set a context variable, has waited, has raised, or has given the task another name. A handler that does none of these
costs no task.
"""

import asyncio
import decimal
from contextvars import Context, ContextVar, copy_context
from operator import is_
from typing import Any

UNUSED = "pgsched lane"
"""The name of a lane's task in which no handler has left anything."""


def own_context() -> Context:
    """A copy of the current context. decimal's is copied too: it is one mutable object in all copies otherwise."""
    context = copy_context()
    if _DECIMAL in context:
        context.run(_copy_decimal)
    return context


def context_of_lanes() -> Context:
    """A copy of the current context, without decimal's if that is as in a new thread: otherwise it would be compared
    after each attempt, used or not."""
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
    """What the event loop does until it has called all that it had to call when this began."""

    __slots__ = ("is_over",)

    def __init__(self) -> None:
        self.is_over = False


class Leftovers:
    """Tells of attempts in an event loop whether they have left anything in their task, which had the same variables
    when each of them began. Most have not; they are told by ``step``, the step under way if an attempt has begun in it:
    it goes on, and there are no variables."""

    __slots__ = ("_before", "step")

    def __init__(self) -> None:
        self.step: _Step | None = None
        self._before: Context | None = None

    def begin(self) -> _Step:
        """Begins a step, for the attempts that begin in it."""
        # What waits goes on after this was called, since the loop calls in the order in which it was asked to.
        step = self.step = _Step()
        asyncio.get_running_loop().call_soon(self._end_step, context=_NOTHING)
        self._before = self._before or own_context()
        return step

    def end(self, step: _Step) -> None:
        """Ends an attempt that began in this step. Names the lane's task anew if there is anything in it."""
        if step.is_over or not _is_as_before(copy_context(), self._before or _NOTHING):
            leave_task()

    def _end_step(self) -> None:
        if self.step is not None:
            self.step.is_over, self.step = True, None


def _is_as_before(now: Context, before: Context) -> bool:
    """Whether both have the same variables, with the same objects: equal ones may be different, and arrays refuse to
    say whether they are equal. Of decimal's context each task has a copy."""
    if len(now) != len(before) or not all(map(is_, now, before)):
        return False
    return all(
        one is other or (variable is _DECIMAL and _are_alike(one, other))
        for variable, one, other in zip(now, now.values(), before.values(), strict=True)
    )


def _are_alike(one: decimal.Context, other: decimal.Context) -> bool:
    return _settings(one) == _settings(other) and one.flags == other.flags


def leave_task() -> None:
    """Has the lane go on in another task."""
    task = asyncio.current_task()
    if task is not None and task.get_name() == UNUSED:
        task.set_name("pgsched handler")


def _copy_decimal() -> None:
    decimal.setcontext(decimal.getcontext().copy())


def _variable_of_decimal() -> ContextVar[Any]:
    """The variable that holds decimal's context, which the module has no name for."""
    empty = Context()
    empty.run(decimal.getcontext)
    return next(iter(empty), ContextVar("absent"))


_NOTHING = Context()
_DECIMAL = _variable_of_decimal()
