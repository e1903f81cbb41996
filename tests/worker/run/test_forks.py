"""A child that a handler has forked does nothing of what is its worker's."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.worker.conftest import Connection, until_history
from tests.worker.run.test_stopped_process import Process

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")

_DUE = """
insert into pgsched.executions (target, fire_at, payload, options)
select case n when 10 then %s else 'python:note' end, now() + interval '300 ms', to_jsonb(%s::text), %s
  from generate_series(1, 20) n"""
_ENDED = str(os.EX_SOFTWARE)


@pytest.fixture
def process(database_url: str, tmp_path: Path) -> Iterator[Process]:
    started = Process(database_url, tmp_path / "ledger")
    yield started
    started.end()


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
async def test_a_child_ends_where_it_leaves_its_handler(
    db: Connection, process: Process, handler: str, how: str, status: str
) -> None:
    await db.execute(_DUE, [f"python:{handler}", how, '{"max_attempts": 1}'])
    await until_history(db, 20)
    assert process.called("child") == [f"{how} {status}"]
    noted = process.called("note")
    assert len(noted) == len(set(noted)) == 19
    await db.execute("select pgsched.schedule('python:note')")
    await until_history(db, 21)
