"""Link: a connection that is opened again after it breaks."""

import asyncio

import psycopg
import pytest

from pgsched.store.core.connect import Connection, Link
from pgsched.store.core.timeline_fencing import Lineage


class _Heard:
    def __init__(self, *, fails: int = 0) -> None:
        self.greeted, self._fails = 0, fails
        self.warmed = list[bool]()

    async def greet(self, _: Connection) -> None:
        self.greeted += 1

    async def warm(self, connection: Connection, first: bool) -> None:
        if self._fails:
            self._fails -= 1
            raise ConnectionError("gone while it was warmed")
        await connection.execute("select 1")
        self.warmed.append(first)


async def test_each_new_connection_is_greeted_and_warmed_up(database_url: str) -> None:
    heard = _Heard()
    link = Link(database_url, "test", greet=heard.greet, warm=heard.warm)
    first = await link.get()
    assert await link.get() is first
    await first.close()
    assert await link.get() is not first
    assert (heard.greeted, heard.warmed) == (2, [True, False])
    await link.drop()


async def test_after_a_failed_warm_up_the_next_connection_counts_as_the_first(database_url: str) -> None:
    heard = _Heard(fails=1)
    link = Link(database_url, "test", greet=heard.greet, warm=heard.warm)
    with pytest.raises(ConnectionError):
        await link.get()
    await link.get()
    assert (heard.greeted, heard.warmed) == (2, [True])
    await link.drop()


async def test_cancelling_the_timeline_check_closes_the_connection(database_url: str) -> None:
    async with await psycopg.AsyncConnection.connect(database_url, autocommit=True) as made, made.lock:

        async def make(_: str) -> Connection:
            return made

        await _given_up(asyncio.create_task(Lineage().connect(make, database_url)))
        assert made.closed


async def test_a_connection_is_closed_even_if_dropping_it_is_cancelled(database_url: str) -> None:
    link = Link(database_url, "test")
    connection = await link.get()
    async with connection.lock:
        await _given_up(asyncio.create_task(link.drop()))
        assert connection.closed


async def _given_up(task: asyncio.Task[Connection] | asyncio.Task[None]) -> None:
    await asyncio.sleep(0.05)
    task.cancel()
    await asyncio.wait([task])
    assert task.cancelled()
