"""A process forked by a handler does none of its worker's work."""

import os
from collections.abc import AsyncIterator, Iterator

import psycopg
import pytest

from tests.databases import Databases
from tests.worker.conftest import Connection, until_history, value
from tests.worker.run.test_stopped_process import Process

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")

_DUE = """
insert into pgsched.executions (target, fire_at, payload, options)
select case n when 10 then %s else 'python:note' end, now() + interval '300 ms', to_jsonb(%s::text), %s
  from generate_series(1, 20) n"""
_ENDED = str(os.EX_SOFTWARE)


@pytest.fixture(scope="module")
def at_work(databases: Databases, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Process]]:
    """A database and a worker process that outlives all children."""
    with databases.lent() as url:
        started = Process(url, tmp_path_factory.mktemp("forks") / "ledger")
        yield url, started
        started.end()


@pytest.fixture
async def db(at_work: tuple[str, Process]) -> AsyncIterator[Connection]:
    async with await psycopg.AsyncConnection.connect(at_work[0], autocommit=True) as connection:
        yield connection


@pytest.mark.parametrize(
    ("handler", "how", "status"),
    [
        ("fork", "return", _ENDED),
        ("fork", "raise", _ENDED),
        ("fork", "await", _ENDED),
        ("fork", "exit", "0"),
        ("fork_in_a_task", "return", _ENDED),
        ("fork_in_a_task", "await", _ENDED),
        ("fork_with_a_connection", "return", _ENDED),
        ("fork_in_a_thread", "return", _ENDED),
        ("fork_in_a_thread", "raise", _ENDED),
        ("fork_by_a_library", "library", "0"),
    ],
)
async def test_a_forked_child_that_leaves_its_handler_exits(
    db: Connection, at_work: tuple[str, Process], handler: str, how: str, status: str
) -> None:
    process = at_work[1]
    done = await value(db, "select count(*) from pgsched.history")
    children, noted = (len(process.called(name)) for name in ("child", "note"))
    await db.execute(_DUE, [f"python:{handler}", how, '{"max_attempts": 1}'])
    await until_history(db, done + 20)
    assert process.called("child")[children:] == [f"{how} {status}"]
    called = process.called("note")[noted:]
    assert len(called) == len(set(called)) == 19
    await db.execute("select pgsched.schedule('python:note')")
    await until_history(db, done + 21)
