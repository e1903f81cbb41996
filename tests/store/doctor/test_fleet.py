"""Findings on workers that are lost, frozen or of another release, and on queues and handlers without a worker."""

from tests.conftest import Connection
from tests.store.doctor.doctor_arrange import register, seen, session_of_the_worker


async def test_a_worker_without_sessions_is_reported_as_lost(database_url: str) -> None:
    await register(database_url)
    [(severity, text)] = await seen(database_url, "workers")
    assert severity == "warning"
    assert text.startswith("worker 1 is lost")


async def test_a_worker_declared_lost_is_reported_as_a_warning(db: Connection, database_url: str) -> None:
    await register(database_url)
    db.execute("update pgsched.workers set lost_since = now()")
    with session_of_the_worker(database_url):
        assert [severity for severity, _ in await seen(database_url, "workers")] == ["warning"]


async def test_a_silent_worker_with_a_session_is_reported_as_frozen(database_url: str) -> None:
    await register(database_url, term=-40)
    with session_of_the_worker(database_url):
        [(severity, text)] = await seen(database_url, "workers")
    assert severity == "error"
    assert text.startswith("worker 1 is frozen")


async def test_a_draining_worker_is_reported_as_a_note(db: Connection, database_url: str) -> None:
    await register(database_url)
    db.execute("select pgsched.pause('worker', '1')")
    with session_of_the_worker(database_url):
        [(severity, text)] = await seen(database_url, "workers")
    assert (severity, text.startswith("worker 1 is draining")) == ("note", True)


async def test_an_unregistered_workers_session_is_reported_as_a_warning(database_url: str) -> None:
    with session_of_the_worker(database_url):
        assert await seen(database_url, "workers") == []  # it may be about to register
        [(severity, text)] = await seen(database_url, "workers", silent=0.0)
        assert (severity, "is still connected from 127.0.0.1" in text) == ("warning", True)
        await register(database_url)
        assert await seen(database_url, "workers", silent=0.0) == []


async def test_mixed_releases_are_a_warning_and_a_different_release_is_a_note(database_url: str) -> None:
    await register(database_url, release="0.0.1")
    assert [severity for severity, _ in await seen(database_url, "releases")] == ["note"]
    await register(database_url)
    [(severity, text)] = await seen(database_url, "releases")
    assert severity == "warning"
    assert "0.0.1" in text


async def test_an_unserved_queue_is_an_error_once_an_execution_is_due(db: Connection, database_url: str) -> None:
    db.execute("select pgsched.create_queue('orders'), pgsched.create_queue('pull', '{\"pulled\": true}')")
    await register(database_url)
    [(severity, text)] = await seen(database_url, "queues")
    assert (severity, "serves the queue orders; nothing is due" in text) == ("warning", True)
    db.execute("select pgsched.schedule('python:note', fire_at => now() - interval '5 minutes', queue => 'orders')")
    [(severity, text)] = await seen(database_url, "queues")
    assert (severity, "due for 5 minutes" in text) == ("error", True)


async def test_a_paused_queue_is_reported_as_a_note(db: Connection, database_url: str) -> None:
    await register(database_url)
    db.execute("select pgsched.pause('queue', 'default')")
    assert await seen(database_url, "queues") == [("note", "the queue default is paused; nothing is due in it")]


async def test_a_handler_without_a_worker_is_reported_as_an_error(db: Connection, database_url: str) -> None:
    db.execute("select pgsched.schedule('python:settle', delay => '1 hour') from generate_series(1, 3)")
    db.execute("update pgsched.executions set fire_at = 'infinity', gate = 'worker:python:settle'")
    assert await seen(database_url, "handlers") == [
        ("error", "no running worker has python:settle, which 3 executions need")
    ]
    await register(database_url)
    db.execute("update pgsched.workers set delivers = array['python:settle']")
    assert await seen(database_url, "handlers") == []
