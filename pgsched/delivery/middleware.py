"""What an application has around its handlers: context managers, which are entered before a call and left after it.

What stands before their ``yield`` is done before the handler, what stands behind it afterwards; what the handler raises
is raised there.
"""

import inspect
from collections.abc import Callable, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager, AsyncExitStack, ExitStack
from typing import TYPE_CHECKING, Any

from pgsched.delivery.handler_results import finished
from pgsched.errors import InvalidInput

if TYPE_CHECKING:
    from pgsched.delivery.handler_call import Context

Middleware = Callable[["Context"], AbstractContextManager[Any] | AbstractAsyncContextManager[Any]]


def is_async(middleware: Middleware) -> bool:
    """Whether it makes asynchronous context managers. Raises InvalidInput where it makes none."""
    made = middleware if isinstance(middleware, type) else inspect.unwrap(middleware)
    if hasattr(made, "__aenter__") or (inspect.isasyncgenfunction(made) and made is not middleware):
        return True
    if hasattr(made, "__enter__") or (inspect.isgeneratorfunction(made) and made is not middleware):
        return False
    raise InvalidInput(
        f"{middleware!r} makes no context managers: write @contextmanager or @asynccontextmanager above it, "
        "or give a class with __enter__ and __exit__, or __aenter__ and __aexit__"
    )


async def within(around: Sequence[Middleware], context: "Context", call: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
    """The call within all of them, the first outermost. None where one of them has kept back what the call raised."""
    async with AsyncExitStack() as stack:
        for middleware in around:
            made = middleware(context)
            if isinstance(made, AbstractAsyncContextManager):
                await stack.enter_async_context(made)
            else:
                stack.enter_context(made)
        return await finished(call())


def within_thread(around: Sequence[Middleware], context: "Context", call: Callable[[], Any]) -> Any:
    """The same for a function that is not async, within those that are not async either."""
    with ExitStack() as stack:
        for middleware in around:
            if not is_async(middleware):
                stack.enter_context(middleware(context))  # type: ignore[arg-type]
        return call()
