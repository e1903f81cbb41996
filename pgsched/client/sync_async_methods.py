"""Turns one function into a method of both clients.

``Client`` and ``AsyncClient`` inherit classes that define each method once, as a function that returns the request to
send. A ``Client`` method returns the result; an ``AsyncClient`` method must be awaited.

    class Jobs:
        @method
        def get_job(self, job_id: Id) -> Call[JobDetail]: ...

    Client(…).get_job(id)             # JobDetail
    await AsyncClient(…).get_job(id)  # JobDetail
"""

import inspect
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from functools import update_wrapper
from types import MethodType
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, get_args, overload

from pgsched.api_responses import Page
from pgsched.client.requests import Call

LARGEST = 500
"""Default page size when all pages are read."""
_Given = ParamSpec("_Given")
_Answer = TypeVar("_Answer")
_Item = TypeVar("_Item")


class SyncBase:
    """A client whose methods block until the response arrives."""

    def _ask(self, call: Call[_Answer]) -> _Answer:
        raise NotImplementedError


class AsyncBase:
    """A client whose methods are awaited."""

    async def _ask(self, call: Call[_Answer]) -> _Answer:
        raise NotImplementedError


class method(Generic[_Given, _Answer]):
    """Turns a function that returns a request into a method that sends the request."""

    def __init__(self, function: Callable[Concatenate[Any, _Given], Call[_Answer]]) -> None:
        def call_sync(client: SyncBase, /, *given: _Given.args, **named: _Given.kwargs) -> _Answer:
            return client._ask(function(client, *given, **named))

        async def call_async(client: AsyncBase, /, *given: _Given.args, **named: _Given.kwargs) -> _Answer:
            return await client._ask(function(client, *given, **named))

        self.function = function
        self._sync, self._async = _like(function, call_sync), _like(function, call_async)

    @overload
    def __get__(self, client: None, owner: type) -> Callable[..., Any]: ...
    @overload
    def __get__(self, client: SyncBase, owner: type) -> Callable[_Given, _Answer]: ...
    @overload
    def __get__(self, client: AsyncBase, owner: type) -> Callable[_Given, Coroutine[Any, Any, _Answer]]: ...
    def __get__(self, client: Any, owner: type) -> Any:
        return _bound(self._async if issubclass(owner, AsyncBase) else self._sync, client)


class pages(Generic[_Given, _Item]):
    """Turns a method that lists one page into a method that iterates over the items of all pages, requesting pages as
    needed.

    iter_jobs = pages(list_jobs)
    """

    def __init__(self, listing: "method[_Given, Page[_Item]]") -> None:
        function: Any = listing.function

        def call_sync(client: SyncBase, /, *given: _Given.args, **named: _Given.kwargs) -> Iterator[_Item]:
            call: Call[Page[_Item]] | None = function(client, *given, **{"limit": LARGEST, **named})
            while call is not None:
                page = client._ask(call)
                yield from page.items
                call = None if page.next is None else call.following(page.next)

        async def call_async(client: AsyncBase, /, *given: _Given.args, **named: _Given.kwargs) -> AsyncIterator[_Item]:
            call: Call[Page[_Item]] | None = function(client, *given, **{"limit": LARGEST, **named})
            while call is not None:
                page = await client._ask(call)
                for item in page.items:
                    yield item
                call = None if page.next is None else call.following(page.next)

        self._sync, self._async = _like(function, call_sync), _like(function, call_async)

    def __set_name__(self, owner: type, name: str) -> None:
        for made in (self._sync, self._async):
            shown = made.__signature__
            kept = [one for one in shown.parameters.values() if one.name not in ("limit", "after")]
            made.__signature__ = shown.replace(parameters=kept)
            made.__doc__ = f"Iterates over everything that ``{made.__name__}`` lists, requesting pages as needed."
            made.__name__, made.__qualname__ = name, f"{owner.__name__}.{name}"

    @overload
    def __get__(self, client: None, owner: type) -> Callable[..., Any]: ...
    @overload
    def __get__(self, client: SyncBase, owner: type) -> Callable[_Given, Iterator[_Item]]: ...
    @overload
    def __get__(self, client: AsyncBase, owner: type) -> Callable[_Given, AsyncIterator[_Item]]: ...
    def __get__(self, client: Any, owner: type) -> Any:
        return _bound(self._async if issubclass(owner, AsyncBase) else self._sync, client)


def _bound(function: Any, client: Any) -> Any:
    return function if client is None else MethodType(function, client)


def _like(function: Callable[..., Any], made: Any) -> Any:
    """Gives ``made`` the name, docstring and parameters of ``function``, and the result type as the return type."""
    update_wrapper(made, function)
    signature = inspect.signature(function)
    made.__signature__ = signature.replace(return_annotation=get_args(signature.return_annotation)[0])
    return made
