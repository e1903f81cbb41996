"""GET /v1/events: each ended execution is sent once, in order, to every reader that may see it."""

import asyncio
from collections.abc import AsyncIterator
from uuid import UUID

import httpx
import psycopg
import pytest
from litestar import Litestar

from pgsched.api import shared_event_reader
from pgsched.api.shared_event_reader import MOST_EACH
from pgsched.store.lookup.row_types import Event
from tests.api.access_arrange import make_key
from tests.api.conftest import app_of
from tests.api.serving import serving
from tests.api.streaming import Stream, following
from tests.conftest import Connection
from tests.store.store_arrange import call, schedule


@pytest.fixture
async def app(database_url: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Litestar]:
    """An application that polls often, so that tests do not wait."""
    monkeypatch.setattr(shared_event_reader, "_EVERY", 0.01)
    async with serving(app_of(database_url)):
        yield app_of(database_url)


def _end(db: Connection, **given: object) -> str:
    id = schedule(db, **given)
    call(db, "cancel", id=id)
    return str(id)


async def _ids(stream: Stream, count: int) -> list[str]:
    return [(await stream.event())["id"] for _ in range(count)]


async def test_an_event_is_sent_as_soon_as_an_execution_ends(app: Litestar, db: Connection) -> None:
    async with following(app) as stream:
        assert (stream.status, stream.headers["content-type"]) == (200, "text/event-stream; charset=utf-8")
        assert stream.headers["cache-control"] == "no-store"
        id = _end(db, client="shop", key="settle-1")
        event = await stream.event()
    assert (event["id"], event["client"], event["key"], event["status"]) == (id, "shop", "settle-1", "cancelled")
    assert event.keys() == set(Event.__dataclass_fields__)


async def test_a_reader_resumes_after_its_last_event(app: Litestar, db: Connection) -> None:
    async with following(app) as stream:
        first = _end(db)
        event = await stream.event()
        assert event["id"] == first
    missed = [_end(db) for _ in range(3)]
    async with following(app, after=event["cursor"]) as stream:
        assert await _ids(stream, 3) == missed
        last = _end(db)
        assert await _ids(stream, 1) == [last]
    async with following(app, after=event["cursor"], wait="0s") as stream:
        assert await _ids(stream, 4) == [*missed, last]
        assert await stream.ends()


async def test_an_event_from_a_late_commit_is_still_sent(app: Litestar, db: Connection, database_url: str) -> None:
    late = schedule(db)
    async with following(app) as stream:
        with psycopg.connect(database_url) as other:
            call(other, "cancel", id=late)
            quick = _end(db)
            event = await stream.event()
            assert event["id"] == quick
            other.commit()
        assert await _ids(stream, 1) == [str(late)]
    async with following(app, after=event["cursor"], wait="0s") as stream:
        assert await _ids(stream, 1) == [str(late)]


async def test_a_reader_gets_only_events_that_match_its_filters(app: Litestar, db: Connection) -> None:
    call(db, "create_queue", name="orders")
    job = schedule(db, client="shop", every="1 hour")
    async with following(app, after="0.0.0..", client="shop", status=["cancelled", "failed"], queue="orders") as stream:
        _end(db)
        _end(db, client="shop")
        wanted = _end(db, client="shop", queue="orders", key="a")
        assert await _ids(stream, 1) == [wanted]
        async with following(app, after="0.0.0..", key="a", wait="0s") as other:
            assert await _ids(other, 1) == [wanted]
            assert await other.ends()
        async with following(app, after="0.0.0..", status=["failed"], wait="0s") as other:
            assert await other.ends()
        async with following(app, after="0.0.0..", job=job, wait="0s") as other:
            assert await other.ends()


async def test_a_clients_api_key_gets_only_that_clients_events(app: Litestar, db: Connection) -> None:
    keys = {name: make_key(db, clients=[name], subject=name) for name in ("shop", "orders")}
    everybody = make_key(db)
    async with (
        following(app, keys["shop"]) as shop,
        following(app, everybody) as all_of_them,
        following(app, keys["orders"]) as orders,
    ):
        ids = {name: _end(db, client=name) for name in ("shop", "billing", "orders")}
        assert await _ids(all_of_them, 3) == list(ids.values())
        assert await _ids(shop, 1) == [ids["shop"]]
        assert await _ids(orders, 1) == [ids["orders"]]
        last = _end(db, client="shop")
        assert await _ids(shop, 1) == [last]


async def test_one_poll_feeds_all_event_streams(app: Litestar, db: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    async with following(app) as one, following(app) as two, following(app) as three:
        first = _end(db)
        assert [await _ids(stream, 1) for stream in (one, two, three)] == [[first]] * 3
        monkeypatch.setattr(shared_event_reader.Feed, "read", None)  # no reader may query by itself
        ids = [_end(db) for _ in range(5)]
        assert [await _ids(stream, 5) for stream in (one, two, three)] == [ids] * 3


async def test_a_slow_reader_misses_no_event_and_does_not_delay_a_fast_reader(
    app: Litestar, db: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared_event_reader, "_MOST_BYTES", 2000)
    async with following(app) as slow, following(app) as quick:
        ids = []
        for _ in range(30):
            ids.append(_end(db))
            assert await _ids(quick, 1) == ids[-1:]
        assert await _ids(slow, 30) == ids


async def test_a_stream_ends_when_its_api_key_is_revoked(app: Litestar, db: Connection) -> None:
    key = make_key(db)
    async with following(app, key) as stream, following(app, make_key(db)) as other:
        db.execute("select pgsched_internal.revoke_key(%s)", [key.id])
        async with asyncio.timeout(3):
            assert await stream.ends()
        id = _end(db)
        assert await _ids(other, 1) == [id]


async def test_the_number_of_streams_per_api_key_is_limited(
    app: Litestar, db: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared_event_reader, "MOST_EACH", 2)
    key, other = make_key(db), make_key(db)
    async with following(app, key), following(app, key):
        async with following(app, key) as third:
            assert third.status == 429
        async with following(app, other) as fourth:
            assert fourth.status == 200
    async with following(app, key) as again:
        assert again.status == 200
    assert MOST_EACH < shared_event_reader.MOST


async def test_the_number_of_streams_per_client_is_limited_across_api_keys(
    app: Litestar, db: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared_event_reader, "MOST_EACH", 2)
    sets = (["shop"], ["shop", "billing"], ["shop", "stock"], ["billing"])
    one, both, other, neighbour = (make_key(db, clients=clients, scopes=["read"]) for clients in sets)
    async with following(app, one), following(app, both):
        async with following(app, other) as third:
            assert third.status == 429
        async with following(app, neighbour) as fourth:
            assert fourth.status == 200


async def test_an_idle_stream_sends_its_cursor(app: Litestar, db: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pgsched.api.events._BEAT", 0.01)
    async with following(app, client="shop") as stream:
        _end(db)
        frames = [await stream.frame() for _ in range(3)]
    assert all(frame is not None and frame.keys() == {"id"} for frame in frames)


async def test_streams_end_when_the_server_stops(app: Litestar) -> None:
    async with following(app) as stream:
        app.state.parts.feed.close()
        assert await stream.ends()


async def test_a_stream_survives_losing_the_database_connection(
    app: Litestar, db: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with following(app) as stream:
        before = _end(db)
        assert await _ids(stream, 1) == [before]
        db.execute(
            "select pg_terminate_backend(pid) from pg_stat_activity"
            " where datname = current_database() and application_name = 'pgsched api'"
        )
        after = _end(db)
        assert await _ids(stream, 1) == [after]


@pytest.mark.parametrize(
    ("asked", "status", "words"),
    [
        ("after=nothing", 422, "after: not the id of an event"),
        ("after=0.0.fffffffffff..", 422, "not from this database"),
        ("wait=soon", 422, "wait: "),
        ("status=running", 400, "status"),
        ("job=1", 400, "not an id"),
        ("client=", 400, "has no value"),
        ("limit=3", 400, "unknown parameter"),
    ],
)
async def test_an_invalid_request_for_events_is_refused(
    api: httpx.AsyncClient, asked: str, status: int, words: str
) -> None:
    answer = await api.get(f"/v1/events?{asked}")
    assert (answer.status_code, answer.headers["content-type"]) == (status, "application/problem+json")
    assert words in answer.json()["detail"]


async def test_the_last_event_id_header_overrides_the_after_parameter(api: httpx.AsyncClient, db: Connection) -> None:
    ids = [_end(db), _end(db)]
    answer = await api.get("/v1/events?after=0.0.0..&wait=0s")
    [first] = [line[4:] for line in answer.text.splitlines() if line.startswith("id: ")][1:2]
    answer = await api.get("/v1/events?after=0.0.0..&wait=0s", headers={"Last-Event-ID": first})
    assert ids[0] not in answer.text
    assert ids[1] in answer.text
    refused = await api.get("/v1/events", headers={"Last-Event-ID": "x"})
    assert (refused.status_code, "Last-Event-ID" in refused.json()["detail"]) == (422, True)
    assert UUID(ids[0])
