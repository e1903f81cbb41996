import functools
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

from pgsched.delivery.app import App
from pgsched.delivery.handler_call import Handler, context_of
from pgsched.errors import InvalidInput, InvalidTarget
from tests.delivery.receiver import execution


async def none() -> None: ...
async def payload_only(payload: Any) -> None: ...
async def any_names(body: Any, about: Any) -> None: ...
async def context_only(context: Any) -> None: ...
async def context_first(context: Any, order: Any) -> None: ...
async def keyword_context(payload: Any, *, context: Any) -> None: ...
async def optional(payload: Any, retries: int = 3, *, dry: bool = False, **more: Any) -> None: ...
async def connection_between(payload: Any, connection: Any, context: Any) -> None: ...


@pytest.mark.parametrize(
    ("function", "given"),
    [
        (none, {}),
        (payload_only, {"payload": "P"}),
        (any_names, {"body": "P", "about": "C"}),
        (context_only, {"context": "C"}),
        (context_first, {"order": "P", "context": "C"}),
        (keyword_context, {"payload": "P", "context": "C"}),
        (optional, {"payload": "P"}),
        (connection_between, {"payload": "P", "context": "C"}),
        (functools.partial(any_names, about=1), {"body": "P"}),
    ],
)
def test_a_handler_receives_what_its_signature_asks_for(function: Callable[..., Any], given: dict[str, str]) -> None:
    row = execution("python:work", payload=b'"P"')
    wanted = {name: context_of(row) if what == "C" else what for name, what in given.items()}
    assert Handler("work", function).arguments(row) == wanted


def test_a_context_has_the_job_and_the_callers_trace() -> None:
    trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    row = execution("python:work")._replace(job_id=bytes(16), options=b'{"traceparent": "%b"}' % trace.encode())
    found = context_of(row)
    assert (found.job_id, found.traceparent) == ("00000000-0000-0000-0000-000000000000", trace)
    found = context_of(execution("python:work"))
    assert (found.job_id, found.traceparent) == (None, None)


def test_only_a_parameter_named_connection_receives_the_connection() -> None:
    assert Handler("work", connection_between).wants_connection
    assert not Handler("work", any_names).wants_connection


class Callable2:
    async def __call__(self, payload: Any) -> None: ...


def test_an_object_with_an_async_call_method_is_an_async_handler() -> None:
    assert Handler("work", Callable2()).is_async


def sync_connection(connection: Any) -> None: ...
def too_many(payload: Any, context: Any, third: Any) -> None: ...
def keyword_only(*, shop: str) -> None: ...
def by_position(payload: Any, /) -> None: ...
def generator() -> Iterator[int]:
    yield 1


async def anything(*given: Any, **named: Any) -> None: ...


class Sends:
    async def __call__(self, payload: Any) -> None: ...


async def async_generator() -> AsyncIterator[int]:
    yield 1


@pytest.mark.parametrize(
    ("function", "says"),
    [
        (sync_connection, "is not async but takes the connection, which is asynchronous: define it with async def"),
        (too_many, "has a parameter 'third' that pgsched cannot fill"),
        (keyword_only, "has a parameter 'shop' that pgsched cannot fill"),
        (by_position, "leave out the /"),
        (generator, "without yield"),
        (async_generator, "without yield"),
        (anything, "has no named parameter: write .payload., and use functools.wraps"),
        (Sends, "is a class: register a function"),
        (dict, "register a function"),
        (none(), "register a function"),
    ],
)
def test_an_unsuitable_handler_is_refused_at_registration(function: Callable[..., Any], says: str) -> None:
    with pytest.raises(InvalidInput, match=says):
        App().handler("work")(function)


def test_a_duplicate_handler_name_is_refused() -> None:
    app = App()
    app.handler("work")(none)
    with pytest.raises(InvalidInput, match="there is already a handler 'work'"):
        app.handler("work")(payload_only)


@pytest.mark.parametrize("name", ["", "two words", "1st", "x" * 300])
def test_an_invalid_target_name_is_refused(name: str) -> None:
    with pytest.raises(InvalidTarget):
        App().handler(name)


def test_registration_returns_the_function_unchanged() -> None:
    assert App().handler("work")(payload_only) is payload_only


class Shop:
    async def close_day(self, payload: Any) -> None: ...

    def __call__(self, payload: Any) -> None: ...


def test_a_registered_method_is_scheduled_under_its_handler_name() -> None:
    app, shop = App(), Shop()
    app.handler("close")(shop.close_day)
    app.cron("30 2 * * *")(shop.close_day)
    assert list(app.handlers) == ["close"]
    assert [job.target for job in app.declared] == ["python:close"]


@pytest.mark.parametrize("function", [Shop(), functools.partial(payload_only)])
def test_a_function_without_a_name_needs_a_handler_name(function: Callable[..., Any]) -> None:
    app = App()
    with pytest.raises(InvalidInput, match="None is not a handler name: write a string"):
        app.every("15m")(function)
    app.every("15m")(app.handler("close")(function))
    assert [job.key for job in app.declared] == ["close"]


@pytest.mark.parametrize("decorator", ["handler", "cron", "every"])
def test_a_decorator_without_parentheses_is_refused(decorator: str) -> None:
    with pytest.raises(InvalidInput, match="@app"):
        getattr(App(), decorator)(payload_only)
