"""Every argument of every SDK function is accepted, or refused with a pgsched error that says what to write."""

import functools
import inspect
import sqlite3
import uuid
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any, cast, get_type_hints

import asyncpg
import httpx
import psycopg
import pytest
from psycopg_pool import ConnectionPool
from sqlalchemy import create_engine
from sqlalchemy.ext.asyncio import AsyncSession, async_scoped_session, create_async_engine
from sqlalchemy.orm import Session

import pgsched
from pgsched import Client
from pgsched.client.jobs import ScheduleOptions
from pgsched.client.many import Request, _orders
from pgsched.client.pull import Ticket
from pgsched.errors import InvalidInput, InvalidSchedule, PgschedError
from pgsched.store.schedule.many import Start

schedule: Any = pgsched.schedule
schedule_async: Any = pgsched.schedule_async
schedule_many: Any = pgsched.schedule_many
schedule_many_async: Any = pgsched.schedule_many_async

ODD: list[Any] = [
    None,
    42,
    1.5,
    True,
    Decimal("1.5"),
    b"bytes",
    "\x00",
    "\ud800",
    "",
    [],
    [object()],
    {},
    {"a": 1},
    {1, 2},
    date(2031, 3, 1),
    uuid.UUID(int=1),
    timedelta(days=1),
    timedelta.max,
    float("nan"),
    object(),
    int,
]


@pytest.fixture(scope="module")
def connection(module_url: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(module_url) as opened:
        yield opened
        opened.rollback()


def taken_or_refused(call: Callable[[], Any], name: str, value: Any) -> None:
    try:
        call()
    except PgschedError:
        pass
    except Exception as error:
        pytest.fail(f"{name}={value!r}: {error!r}")


@pytest.mark.parametrize("name", ["target", *ScheduleOptions.__annotations__])
def test_odd_schedule_arguments_raise_only_pgsched_errors(connection: psycopg.Connection[Any], name: str) -> None:
    recurs: dict[str, Any] = {"cron": "@daily"} if name in ("timezone", "gap", "overlap", "rules") else {}
    for value in ODD:
        asked: Any = {"target": "notify:a", **recurs, name: value}
        taken_or_refused(functools.partial(schedule, connection, **asked), name, value)
        connection.rollback()


@pytest.mark.parametrize("name", Request.__annotations__)
def test_odd_request_fields_raise_only_pgsched_errors(connection: psycopg.Connection[Any], name: str) -> None:
    for value in ODD:
        asked: Any = [{"target": "notify:a", name: value}]
        taken_or_refused(functools.partial(schedule_many, connection, asked), name, value)
        connection.rollback()


def test_odd_request_lists_raise_only_pgsched_errors(connection: psycopg.Connection[Any]) -> None:
    for requests in (*ODD, [42], [{}], [None], {"target": "notify:a"}, "notify:a"):
        taken_or_refused(functools.partial(schedule_many, connection, requests), "requests", requests)
        connection.rollback()


METHODS = sorted(
    name
    for name, found in inspect.getmembers(Client)
    if inspect.isfunction(found) and not name.startswith("_") and name not in ("close", "events", "consume")
)
GIVEN = {"schedule": {"target": "notify:a"}, "fail": {"error": "e"}}


def required(function: Callable[..., Any]) -> dict[str, Any]:
    """Returns a valid value for each parameter without a default."""
    found: dict[str, Any] = {}
    for name, parameter in list(inspect.signature(function).parameters.items())[1:]:
        if parameter.default is parameter.empty and parameter.kind is not parameter.VAR_KEYWORD:
            found[name] = uuid.UUID(int=1) if name.endswith("id") else "2031-03-01T09:00:00Z"
    return found | ({"message": Ticket(id=uuid.UUID(int=1), token="1")} if "message" in found else {})


def parameters(function: Callable[..., Any]) -> Iterator[str]:
    for name, parameter in list(inspect.signature(function).parameters.items())[1:]:
        if parameter.kind is parameter.VAR_KEYWORD:
            yield from get_type_hints(inspect.unwrap(function))[name].__args__[0].__annotations__
        else:
            yield name


@pytest.mark.parametrize("method", METHODS)
def test_odd_client_arguments_raise_only_pgsched_errors(method: str) -> None:
    refused = {"code": "pgsched.invalid_input", "detail": "refused"}
    transport = httpx.MockTransport(lambda _: httpx.Response(422, json=refused))
    function = getattr(Client, method)
    with Client("http://127.0.0.1:1", transport=transport) as client:
        for name in parameters(function):
            for value in ODD:
                found = functools.partial(function, client, **(required(function) | {name: value}))
                taken_or_refused(functools.partial(exhausted, found), f"{method} {name}", value)


def exhausted(call: Callable[[], Any]) -> Any:
    answer = call()
    return list(answer) if inspect.isgenerator(answer) else answer


@pytest.mark.parametrize("name", ["base_url", "api_key", "timeout", "retries"])
def test_odd_constructor_arguments_raise_only_pgsched_errors(name: str) -> None:
    def call(value: Any) -> None:
        refuse = httpx.MockTransport(lambda _: httpx.Response(422, json={}))
        asked: dict[str, Any] = {"base_url": "http://127.0.0.1:1", "retries": 0, name: value}
        with Client(**asked, transport=refuse) as client:
            client.list_workers()

    for value in (*ODD, "http://[::1", "http://a:99999"):
        taken_or_refused(functools.partial(call, value), name, value)


@pytest.mark.parametrize("wrong", ["https://ann:hush@pgsched.example", "postgresql://ann:hush@db.example/shop"])
def test_an_address_error_hides_the_password(wrong: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        Client(wrong)
    assert ("ann:…@" in str(refused.value), "hush" in str(refused.value)) == (True, False)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"delay": 60}, '"delay" cannot be 60: write a timedelta, or a string such as 90s'),
        ({"every": 60}, '"every" cannot be 60: write a timedelta'),
        (
            {"fire_at": date(2031, 3, 1)},
            r'"fire_at" cannot be datetime.date\(2031, 3, 1\): write a datetime with an offset',
        ),
        ({"fire_at": 1_900_000_000}, '"fire_at" cannot be 1900000000: write a datetime'),
    ],
)
def test_times_of_the_wrong_type_are_refused_with_advice(
    connection: psycopg.Connection[Any], asked: Any, said: str
) -> None:
    with pytest.raises(InvalidSchedule, match=said):
        schedule(connection, "notify:a", **asked)


@pytest.mark.parametrize("name", ["key", "client", "queue", "ordering_key"])
def test_names_of_the_wrong_type_are_refused_with_advice(connection: psycopg.Connection[Any], name: str) -> None:
    with pytest.raises(InvalidInput, match=f"{name} cannot be 42: write a string"):
        schedule(connection, "notify:a", **{name: 42})


async def test_a_pool_is_refused_but_its_connections_are_accepted(module_url: str) -> None:
    async with asyncpg.create_pool(module_url, min_size=1, max_size=1) as pool:
        for function, asked in ((schedule_async, "notify:a"), (schedule_many_async, [])):
            with pytest.raises(InvalidInput, match=r"Pool is not a connection: give .* may come from a pool"):
                await function(pool, asked)
        with pytest.raises(InvalidInput, match=r"has no execute: .* may come from a pool"):
            await schedule_async(pool.acquire(), "notify:a")
        async with pool.acquire() as lent, lent.transaction():
            await schedule_async(lent, "notify:a")


class Derived(asyncpg.Connection):  # type: ignore[misc]
    """An application's connection class."""


async def test_an_instance_of_a_connection_subclass_is_accepted(module_url: str) -> None:
    connection = await asyncpg.connect(module_url, connection_class=Derived)
    await schedule_async(connection, "notify:a")
    await connection.close()


def test_driver_objects_that_are_not_connections_are_refused(module_url: str) -> None:
    with (
        ConnectionPool(module_url, min_size=0, max_size=1, open=False) as pool,
        psycopg.connect(module_url) as connection,
    ):
        for wrong in (pool, connection.cursor(), module_url, None, create_engine("postgresql+psycopg://")):
            with pytest.raises(InvalidInput, match=r"is not a connection: give|has no execute"):
                schedule(wrong, "notify:a")


class Executes:
    """Like a Django cursor, or another library's database object."""

    def execute(self, statement: Any, parameters: Any = None) -> None: ...


class ExecutesLater:
    async def execute(self, statement: Any, parameters: Any = None) -> None: ...


async def test_an_object_with_an_execute_method_is_refused_as_a_connection() -> None:
    raw = create_engine("sqlite://").raw_connection()
    for wrong in (Executes(), raw, sqlite3.connect(":memory:"), Session):
        for function, asked in ((schedule, "notify:a"), (schedule_many, [])):
            with pytest.raises(InvalidInput, match="is not a connection: give a psycopg 3"):
                function(wrong, asked)
    for function, asked in ((schedule_async, "notify:a"), (schedule_many_async, [])):
        with pytest.raises(InvalidInput, match="is not a connection: give a psycopg 3"):
            await function(ExecutesLater(), asked)
    raw.close()


@pytest.mark.parametrize(
    "asked",
    [
        {"key": b"order-7"},
        {"labels": {"shop": b"a"}},
        {"options": {"headers": {"X-Shop": b"a"}}},
        {"cron": "0 9 * * *", "rules": {"exclude": [b"2026-12-25"]}},
    ],
)
def test_bytes_are_refused_as_text_except_in_a_payload(asked: Any) -> None:
    said, wrong = "contain b'|be b'|exclude", cast(Any, b"a")
    with pytest.raises(InvalidInput, match=said):
        schedule(Session(), "notify:a", **asked)
    if "cron" not in asked:
        with pytest.raises(InvalidInput, match=said):
            list(_orders(Start(datetime.now(UTC), 0, True), [asked | {"target": "notify:a"}]))
    taken = httpx.MockTransport(lambda _: httpx.Response(500))
    with Client("http://127.0.0.1:1", retries=0, transport=taken) as client:
        with pytest.raises(InvalidInput, match=said):
            client.schedule("notify:a", **asked)
        with pytest.raises(InvalidInput, match="client cannot contain b'a': write a string"):
            client.list_jobs(client=wrong)
        with pytest.raises(PgschedError, match="500"):
            client.schedule("notify:a", payload={"a": b"order-7"})


@pytest.mark.parametrize("labels", [{"a=b": "c"}, {"team": None}, {"team": 1}, {"": "a"}, {1: "a"}])
def test_an_invalid_label_filter_is_refused_before_it_is_sent(labels: Any) -> None:
    with Client("http://127.0.0.1:1", retries=0) as client:
        with pytest.raises(InvalidInput, match="give a name without =, and a string as its value"):
            client.list_jobs(labels=labels)
        with pytest.raises(InvalidInput, match="give a name without =, and a string as its value"):
            client.list_executions(labels=labels)


def decorated(function: Any) -> Any:
    """Decorates as ``typing_extensions.deprecated`` does on Python 3.11, where SQLModel uses it."""

    @functools.wraps(function)
    def wrapper(*given: Any, **named: Any) -> Any:
        raise DeprecationWarning("use exec")

    return wrapper


class ModelAsyncSession(AsyncSession):
    execute = decorated(AsyncSession.execute)


class ModelSession(Session):
    execute = decorated(Session.execute)


@pytest.mark.parametrize("driver", ["psycopg", "asyncpg"])
async def test_an_async_session_with_a_decorated_execute_is_accepted(module_url: str, driver: str) -> None:
    engine = create_async_engine(module_url.replace("postgresql", f"postgresql+{driver}", 1))
    async with ModelAsyncSession(engine) as session:
        assert await schedule_async(session, "notify:a", key=driver)
        assert len(await schedule_many_async(session, [{"target": "notify:a"}])) == 1
        with pytest.raises(InvalidInput, match="needs schedule_async"):
            schedule(session, "notify:a")
    scoped: Any = async_scoped_session(lambda: ModelAsyncSession(engine), scopefunc=lambda: 1)  # type: ignore[arg-type]
    assert await schedule_async(scoped, "notify:a")
    await scoped.close()
    await engine.dispose()


def test_a_sync_session_with_a_decorated_execute_is_accepted(module_url: str) -> None:
    engine = create_engine(module_url.replace("postgresql", "postgresql+psycopg", 1))
    with ModelSession(engine) as session:
        assert schedule(session, "notify:a")
        assert len(schedule_many(session, [{"target": "notify:a"}])) == 1
    engine.dispose()


ABORTED = "an earlier statement in this transaction failed: roll back the transaction"


def test_an_error_in_an_aborted_transaction_says_to_roll_back(module_url: str) -> None:
    with psycopg.connect(module_url) as connection:
        with pytest.raises(InvalidInput):
            schedule(connection, "nonsense:")
        for function, asked in ((schedule, "notify:a"), (schedule_many, [])):
            with pytest.raises(InvalidInput, match=ABORTED):
                function(connection, asked)
        connection.rollback()


async def test_an_error_in_an_aborted_asyncpg_transaction_says_to_roll_back(module_url: str) -> None:
    connection = await asyncpg.connect(module_url)
    transaction = connection.transaction()
    await transaction.start()
    with pytest.raises(InvalidInput):
        await schedule_async(connection, "nonsense:")
    with pytest.raises(InvalidInput, match=ABORTED):
        await schedule_async(connection, "notify:a")
    await transaction.rollback()
    await connection.close()


def test_an_error_in_a_session_after_a_failed_flush_says_to_roll_back(module_url: str) -> None:
    engine = create_engine(module_url.replace("postgresql", "postgresql+psycopg", 1))
    with Session(engine) as session:
        nested = session.begin_nested()
        nested._state = nested._state.DEACTIVE
        nested._rollback_exception = ValueError("the flush failed")
        with pytest.raises(InvalidInput, match=ABORTED):
            schedule(session, "notify:a")
        nested._state = nested._state.ACTIVE
    engine.dispose()
