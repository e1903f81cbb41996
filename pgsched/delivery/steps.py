"""Runs handlers step by step, and charges each step to their client (``accounts``).

A step is the code that the event loop runs between two awaits. It is timed where it is made: around the coroutine of
the handler and of each task that the handler makes, and around functions that it has the loop call now or later. So it
does not matter where among these a handler blocks, and tasks that handlers leave behind are charged to their client,
too. Where a client is held, its next step waits for its turn, also if an exception is thrown into it.
"""

import asyncio
import contextvars
import functools
from collections.abc import Callable, Coroutine, Generator, Iterator
from contextlib import contextmanager
from time import monotonic
from types import FunctionType, MethodType
from typing import Any

from pgsched.delivery.accounts import BRIEF, OVERDUE, Account

ACCOUNT: contextvars.ContextVar[Account | None] = contextvars.ContextVar("pgsched_account", default=None)
"""The account of the client whose handler runs in this context."""
_ASKED = FunctionType, MethodType, functools.partial
_Call = Callable[..., Any]


def begin(account: Account, coroutine: Coroutine[Any, Any, Any], target: str) -> Any:
    """Takes the first step of a handler, if its client is not held. Its context has the account. Returns the handler's
    result if it has ended, and otherwise Steps that are to be awaited at once."""
    if account.held:
        return Steps(account, coroutine, target=target)
    accounts = account.accounts
    begun, felt = monotonic(), accounts.felt
    try:
        waits_for = coroutine.send(None)
    except StopIteration as ended:
        return ended.value
    finally:
        ended_at = monotonic()
        if ended_at - begun > BRIEF or ended_at - accounts.turned_at > OVERDUE:
            account.target = target
            accounts.count(account, ended_at, ended_at - begun, felt)
    return Steps(account, coroutine, waits_for, target=target)


@contextmanager
def charged(account: Account) -> Iterator[None]:
    """Charges the block, which runs a handler's code in the loop."""
    begun, felt = monotonic(), account.accounts.felt
    try:
        yield
    finally:
        ended = monotonic()
        account.accounts.count(account, ended, ended - begun, felt)


_NOT_BEGUN = object()


class Steps(Coroutine[Any, Any, Any]):
    """A coroutine whose steps are charged to its client. ``waits_for`` is what its first step has yielded. With
    ``target`` it is a handler's own coroutine."""

    __slots__ = ("__weakref__", "_account", "_coroutine", "_target", "_thrown", "_turn", "_waits_for")

    def __init__(
        self, account: Account, coroutine: Coroutine[Any, Any, Any], waits_for: Any = _NOT_BEGUN, *, target: str = ""
    ) -> None:
        self._account, self._coroutine, self._waits_for, self._target = account, coroutine, waits_for, target
        self._turn: asyncio.Future[None] | None = None
        self._thrown: BaseException | None = None
        if target:
            account.target = account.target or target

    def __await__(self) -> Generator[Any, Any, Any]:
        return self

    def __iter__(self) -> "Steps":
        return self

    def __next__(self) -> Any:
        return self.send(None)

    def send(self, value: Any) -> Any:
        if self._waits_for is not _NOT_BEGUN:
            waits_for, self._waits_for = self._waits_for, _NOT_BEGUN
            return waits_for
        if self._account.held or self._turn is not None:
            return self._go_in_turn()
        return self._step(self._coroutine.send, value)

    def throw(self, kind: Any, value: Any = None, traceback: Any = None) -> Any:
        error = value if value is not None else kind
        if isinstance(error, type):
            error = error()
        if self._account.held or self._turn is not None:
            self._thrown = error
            return self._go_in_turn()
        return self._step(self._coroutine.throw, error)

    def close(self) -> None:
        self._coroutine.close()

    def __getattr__(self, name: str) -> Any:
        """The attributes of the coroutine, for code that describes it."""
        return getattr(self._coroutine, name)

    def _step(self, step: Callable[[Any], Any], argument: Any) -> Any:
        accounts, begun = self._account.accounts, monotonic()
        felt = accounts.felt
        try:
            return step(argument)
        finally:
            ended = monotonic()
            if ended - begun > BRIEF or ended - accounts.turned_at > OVERDUE:
                self._account.target = self._target or self._account.target
                accounts.count(self._account, ended, ended - begun, felt)

    def _go_in_turn(self) -> Any:
        """Takes the next step, or returns a future to wait for where others come first."""
        account, turn = self._account, self._turn
        if account.held and (turn is None or turn is not account.turn):
            self._turn = turn = account.accounts.queue(account)
            turn._asyncio_future_blocking = True
            return turn
        self._turn = account.turn = None
        error, self._thrown = self._thrown, None
        if error is not None:
            return self._step(self._coroutine.throw, error)
        return self._step(self._coroutine.send, None)


class _Calling:
    """A function that a handler has told the loop to call."""

    def __init__(self, account: Account, function: _Call) -> None:
        self._account, self._function = account, function
        self.handle: asyncio.Handle | None = None

    def __call__(self, *arguments: Any, turn: asyncio.Future[None] | None = None) -> None:
        account, accounts = self._account, self._account.accounts
        if account.held and (turn is None or turn is not account.turn):
            run = contextvars.copy_context().run
            accounts.queue(account).add_done_callback(
                lambda turn: run(self.__call__, *arguments, turn=turn), context=contextvars.Context()
            )
            return
        if turn is not None:
            account.turn = None
        if self.handle is not None and self.handle.cancelled():
            return
        with charged(account):
            self._function(*arguments)


def meter() -> None:
    """Makes the running loop charge the calls and tasks that handlers ask of it."""
    loop = asyncio.get_running_loop()
    if not isinstance(getattr(loop.call_soon, "__self__", None), _Metered):
        _Metered(loop).take_over(loop)


class _Metered:
    """The loop's own methods, which charge what a handler asks for."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._make = loop.get_task_factory()
        self._soon, self._later, self._at = loop.call_soon, loop.call_later, loop.call_at

    def take_over(self, loop: asyncio.AbstractEventLoop) -> None:
        loop.set_task_factory(self._make_task)
        vars(loop).update(call_soon=self._call_soon, call_later=self._call_later, call_at=self._call_at)

    def _make_task(self, loop: asyncio.AbstractEventLoop, coroutine: Any, **given: Any) -> Any:
        context = given.get("context")
        account = ACCOUNT.get() if context is None else context.get(ACCOUNT)
        if account is not None and type(coroutine) is not Steps:
            coroutine = Steps(account, coroutine)
        if self._make is not None:
            return self._make(loop, coroutine, **given)
        return asyncio.Task(coroutine, loop=loop, **given)

    def _call_soon(self, function: _Call, *arguments: Any, context: contextvars.Context | None = None) -> Any:
        if type(function) not in _ASKED and context is not None:  # a task's step, almost always
            return self._soon(function, *arguments, context=context)
        return self._charged(self._soon, function, *arguments, context=context)

    def _call_later(
        self, delay: float, function: _Call, *arguments: Any, context: contextvars.Context | None = None
    ) -> Any:
        return self._charged(functools.partial(self._later, delay), function, *arguments, context=context)

    def _call_at(
        self, when: float, function: _Call, *arguments: Any, context: contextvars.Context | None = None
    ) -> Any:
        return self._charged(functools.partial(self._at, when), function, *arguments, context=context)

    def _charged(self, call: _Call, function: _Call, *arguments: Any, context: contextvars.Context | None) -> Any:
        account = ACCOUNT.get() if context is None else context.get(ACCOUNT)
        if account is None or _is_the_loops(function):
            return call(function, *arguments, context=context)
        calling = _Calling(account, function)
        handle = calling.handle = call(calling, *arguments, context=context)
        return handle


def _is_the_loops(function: _Call) -> bool:
    """Whether the function only wakes a task, as after a sleep."""
    return str(getattr(function, "__module__", "")).startswith("asyncio.")
