"""Middleware: context managers around an application's handlers, entered before each call and exited after it.

The code before the ``yield`` runs before the handler, and the code after the ``yield`` runs after the handler. An
exception from the handler is raised at the ``yield``.
"""

import inspect
from collections.abc import Callable, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager, AsyncExitStack, ExitStack
from typing import TYPE_CHECKING, Any

from pgsched.delivery.returned_values import finished
from pgsched.errors import InvalidInput

if TYPE_CHECKING:
    from pgsched.delivery.handler_call import Context

Middleware = Callable[["Context"], AbstractContextManager[Any] | AbstractAsyncContextManager[Any]]


def is_async(middleware: Middleware) -> bool:
    """Whether the middleware returns async context managers. Raises InvalidInput if it returns no context managers."""
    made = middleware if isinstance(middleware, type) else inspect.unwrap(middleware)
    if hasattr(made, "__aenter__") or (inspect.isasyncgenfunction(made) and made is not middleware):
        return True
    if hasattr(made, "__enter__") or (inspect.isgeneratorfunction(made) and made is not middleware):
        return False
    raise InvalidInput(
        f"{middleware!r} does not return a context manager: decorate it with @contextmanager or @asynccontextmanager, "
        "or give a class with __enter__ and __exit__, or __aenter__ and __aexit__"
    )


async def within(around: Sequence[Middleware], context: "Context", call: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
    """Makes the call within all middleware, the first outermost, and returns the call's result. Returns None if
    middleware suppresses the call's exception."""
    async with AsyncExitStack() as stack:
        for middleware in around:
            made = middleware(context)
            if isinstance(made, AbstractAsyncContextManager):
                await stack.enter_async_context(made)
            else:
                stack.enter_context(made)
        return await finished(call())


def within_thread(around: Sequence[Middleware], context: "Context", call: Callable[[], Any]) -> Any:
    """Like ``within``, for a function that is not async. Skips async middleware."""
    with ExitStack() as stack:
        for middleware in around:
            if not is_async(middleware):
                stack.enter_context(middleware(context))  # type: ignore[arg-type]
        return call()
