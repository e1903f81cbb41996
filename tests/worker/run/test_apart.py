"""What a handler leaves in its task, thread or connection does not reach the next handler."""

import asyncio
import decimal
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row
from psycopg.types.string import TextLoader

from pgsched.delivery.app import App
from pgsched.delivery.own_context import UNUSED
from pgsched.delivery.threads import THREAD_NAME, LoopsThreads
from tests.worker.conftest import Connection, Running, until_history, value

Session = psycopg.AsyncConnection[Any]


def task() -> asyncio.Task[Any]:
    found = asyncio.current_task()
    assert found is not None
    return found


async def deliver(db: Connection, client: str, nth: int, options: str = '{"max_attempts": 1}') -> None:
    await db.execute("select pgsched.schedule('python:work', client => %s, options => %s::jsonb)", [client, options])
    await until_history(db, nth, status="succeeded")


async def test_data_keyed_by_task_does_not_outlive_the_attempt(db: Connection, running: Running) -> None:
    app, sessions, found = App(), dict[asyncio.Task[Any], str](), list[str]()

    @app.handler("work")
    async def work(payload: Any, context: Any) -> None:
        await asyncio.sleep(0)
        found.append(sessions.setdefault(task(), context.client))

    async with running(app, concurrency=1):
        for nth, client in enumerate(("acme", "globex", "acme"), 1):
            await deliver(db, client, nth)
    assert found == ["acme", "globex", "acme"]


async def test_a_handler_tasks_done_callback_is_called_after_the_attempt(db: Connection, running: Running) -> None:
    app, ended = App(), asyncio.Event()

    @app.handler("work")
    async def work() -> None:
        task().add_done_callback(lambda _: ended.set())
        await asyncio.sleep(0)

    async with running(app, concurrency=1):
        await deliver(db, "acme", 1)
        await asyncio.wait_for(ended.wait(), 10)


async def test_a_task_name_set_by_a_handler_does_not_outlive_the_attempt(db: Connection, running: Running) -> None:
    app, names = App(), list[str]()

    @app.handler("work")
    async def work(payload: Any, context: Any) -> None:
        names.append(task().get_name())
        task().set_name(context.client)

    async with running(app, concurrency=1):
        for nth, client in enumerate(("acme", "globex"), 1):
            await deliver(db, client, nth)
    assert names == [UNUSED, UNUSED]


@pytest.mark.parametrize("precision", [28, 40])
async def test_a_lane_reuses_its_task_if_handlers_never_await(db: Connection, running: Running, precision: int) -> None:
    app, tasks = App(), list[asyncio.Task[Any]]()

    @app.handler("work")
    async def work() -> None:
        tasks.append(task())

    with decimal.localcontext(prec=precision):
        async with running(app, concurrency=1):
            for nth in (1, 2):
                await deliver(db, "acme", nth)
    assert tasks[0] is tasks[1]


async def test_a_thread_name_set_by_a_handler_does_not_outlive_the_attempt(db: Connection, running: Running) -> None:
    app, names = App(), list[str]()

    def rename() -> None:
        names.append(threading.current_thread().name)
        threading.current_thread().name = "mine"

    @app.handler("work")
    def work(payload: Any, context: Any) -> None:
        rename()
        if context.client == "initech":
            raise ValueError

    @app.handler("loops")
    async def loops() -> None:
        await asyncio.get_running_loop().run_in_executor(None, rename)

    asyncio.get_running_loop().set_default_executor(LoopsThreads())
    async with running(app, concurrency=1):
        await db.execute(
            """select pgsched.schedule('python:work', client => 'initech', options => '{"max_attempts": 1}')"""
        )
        await until_history(db, 1, status="failed")
        await deliver(db, "globex", 1)
        for nth in (2, 3):
            await db.execute("select pgsched.schedule('python:loops')")
            await until_history(db, nth, status="succeeded")
    assert all(name.startswith(THREAD_NAME) for name in names[:2]), names
    assert all(name.startswith("pgsched-loop") for name in names[2:]), names


LEFT: list[tuple[str, str]] = [
    ("set work_mem = '5MB'", "select current_setting('work_mem') = '5MB'"),
    ("set search_path = elsewhere", "select current_setting('search_path') = 'elsewhere'"),
    ("set datestyle = 'German'", "select current_setting('datestyle') like 'German%'"),
    ("select set_config('app.tenant', 'acme', false)", "select current_setting('app.tenant', true) = 'acme'"),
    ("create temporary table kept (n integer)", "select to_regclass('pg_temp.kept') is not null"),
    ("create temporary sequence counted", "select to_regclass('pg_temp.counted') is not null"),
    ("select pg_advisory_lock(42)", "select exists (select from pg_locks where locktype = 'advisory' and objid = 42"
     " and pid = pg_backend_pid())"),
    ("listen acme", "select exists (select from pg_listening_channels() c where c = 'acme')"),
    ("prepare acme as select 1", "select exists (select from pg_prepared_statements where name = 'acme')"),
    ("declare kept cursor with hold for select 1", "select exists (select from pg_cursors where name = 'kept')"),
    ("set session characteristics as transaction read only", "select current_setting('transaction_read_only') = 'on'"),
]  # fmt: skip


async def test_a_session_keeps_nothing_from_the_previous_handler(db: Connection, running: Running) -> None:
    async def leave(connection: Session) -> None:
        for left, _ in LEFT:
            await connection.execute(left.encode())

    is_there = ", ".join(f"({condition})" for _, condition in LEFT)
    seen, processes = await _seen_by_the_next(db, running, leave, f"select array[{is_there}]")
    there = dict(zip([left for left, _ in LEFT], seen, strict=True))
    assert (there, len(processes)) == (dict.fromkeys(there, False), 1)


async def _seen_by_the_next(
    db: Connection, running: Running, leave: Callable[[Session], Awaitable[Any]], is_there: str
) -> tuple[Any, set[int]]:
    """What the second of two handlers reads, and the server processes that served both."""
    app, seen, processes = App(), list[Any](), set[int]()

    @app.handler("work")
    async def work(payload: Any, context: Any, connection: Session) -> None:
        processes.add(connection.info.backend_pid)
        seen.append((await (await connection.execute(is_there.encode())).fetchall())[0])
        await leave(connection)

    async with running(app, concurrency=1) as worker:
        worker.parts.completion._pool._max_size = 1  # both get the same session
        await deliver(db, "acme", 1)
        await deliver(db, "globex", 2)
    return seen[1][0], processes


async def test_a_handlers_connection_has_psycopgs_defaults(db: Connection, running: Running) -> None:
    app, found = App(), list[Any]()

    @app.handler("work")
    async def work(payload: Any, context: Any, connection: Session) -> None:
        answer = await (await connection.execute("select 1 as n, '1'::jsonb as j")).fetchall()
        found.append((answer, connection.prepare_threshold, connection.row_factory is dict_row))
        connection.row_factory = dict_row
        connection.prepare_threshold = 0
        connection.adapters.register_loader("jsonb", TextLoader)
        connection.add_notice_handler(lambda said: found.append(said.message_primary))
        await connection.execute(f"do $$ begin raise notice '{context.client}'; end $$".encode())

    async with running(app, concurrency=1):
        for nth, client in enumerate(("acme", "globex"), 1):
            await deliver(db, client, nth)
    assert found == [([(1, 1)], 5, False), "acme", ([(1, 1)], 5, False), "globex"]


async def test_a_connection_kept_by_a_handler_is_closed(db: Connection, running: Running) -> None:
    app, kept = App(), list[Session]()

    @app.handler("work")
    async def work(payload: Any, connection: Session) -> None:
        kept.append(connection)
        if len(kept) == 2:
            with pytest.raises(psycopg.OperationalError, match="closed"):
                await kept[0].execute("select 1")

    async with running(app, concurrency=1):
        for nth in (1, 2):
            await deliver(db, "acme", nth)
    assert kept[0].closed


async def test_a_failed_handler_leaves_nothing_in_its_session(db: Connection, running: Running) -> None:
    app, found = App(), list[bool]()

    @app.handler("work")
    async def work(payload: Any, connection: Session) -> None:
        found.append(await _holds_lock(connection))
        await connection.execute("select pg_advisory_lock(7)")
        if len(found) == 1:
            raise ValueError("not yet")

    async with running(app, concurrency=1):
        await deliver(db, "acme", 1, '{"backoff": ["1ms"]}')
    assert found == [False, False]
    assert await value(db, "select pg_try_advisory_lock(7)")


async def _holds_lock(connection: Session) -> bool:
    held = "select exists (select from pg_locks where locktype = 'advisory' and objid = 7 and pid = pg_backend_pid())"
    return bool((await (await connection.execute(held)).fetchall())[0][0])


@pytest.mark.parametrize(("precision", "expected"), [(28, [28, 28]), (40, [40, 40])])
async def test_each_handler_starts_with_the_applications_decimal_context(
    db: Connection, running: Running, precision: int, expected: list[int]
) -> None:
    app, found = App(), list[int]()

    @app.handler("work")
    async def work() -> None:
        found.append(decimal.getcontext().prec)
        decimal.getcontext().prec = 5

    with decimal.localcontext(prec=precision):
        async with running(app, concurrency=1):
            for nth, client in enumerate(("acme", "globex"), 1):
                await deliver(db, client, nth)
        assert (found, decimal.getcontext().prec) == (expected, precision)
