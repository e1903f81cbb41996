"""Many clients with a few backlogged rows each: another client's new row does not wait for all of them."""

import asyncio

from pgsched.delivery.app import App
from tests.worker.conftest import Connection, Running, until, until_history

CLIENTS, EACH = 200, 10
BACKLOG = """
insert into pgsched.executions (client_id, target, fire_at)
select 'small-' || n % 200, 'python:work', now() - interval '1 minute' from generate_series(1, 2000) n"""
LATER = "insert into pgsched.executions (client_id, target, fire_at) values ('later', 'python:later', now())"


async def test_a_new_row_does_not_wait_for_many_clients_backlogs(db: Connection, running: Running) -> None:
    app, done, before = App(), list[int](), list[int]()
    has_come = asyncio.Event()

    @app.handler("work")
    async def work() -> None:
        await asyncio.sleep(0.005)
        if len(done) > 100:
            await has_come.wait()
        done.append(1)

    @app.handler("later")
    async def later() -> None:
        before.append(len(done))

    await db.execute("insert into pgsched.clients (client_id) select 'small-' || n from generate_series(0, 199) n")
    await db.execute("insert into pgsched.clients (client_id) values ('later')")
    async with running(app, concurrency=4) as worker:

        async def is_shared() -> bool:
            return bool(worker.parts.dispatcher.shares.wanted)

        await until(is_shared)
        await db.execute(BACKLOG.encode())

        async def has_begun() -> bool:
            return len(done) > 100

        await until(has_begun)
        await db.execute(LATER)
        has_come.set()
        await until_history(db, CLIENTS * EACH + 1, seconds=60)
    [begun] = before
    assert begun < CLIENTS * EACH / 2
