"""Dead letters with Client and AsyncClient, against the real API."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest

from pgsched.client import AsyncClient, BulkAsked, Client
from pgsched.errors import Conflict, InvalidInput, InvalidSchedule, InvalidTarget, NotFound
from tests.store.ends.dead_letter_arrange import dead_letter


@pytest.fixture
def client(address: str) -> Iterator[Client]:
    with Client(address) as client:
        yield client


@pytest.fixture
def db(module_url: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(module_url, autocommit=True) as connection:
        yield connection


@pytest.fixture
def whose() -> str:
    """A client name unique to the test."""
    return f"c-{uuid4().hex[:8]}"


def test_dead_letters_are_listed_and_shown_with_their_attempts(
    client: Client, db: psycopg.Connection[Any], whose: str
) -> None:
    id = dead_letter(db, client=whose, payload={"n": 1})
    [found] = client.list_dead_letters(client=whose, host="shop.example", end=datetime(2090, 1, 1, tzinfo=UTC)).items
    assert (found.id, found.state, found.payload, found.reason) == (id, "open", {"n": 1}, "503 Service Unavailable")
    attempts = client.get_dead_letter(id).attempts
    assert attempts is not None
    assert [attempt.error for attempt in attempts] == ["503 Service Unavailable"]


def test_iteration_yields_every_dead_letter_in_either_order(
    client: Client, db: psycopg.Connection[Any], whose: str
) -> None:
    made = {dead_letter(db, client=whose) for _ in range(3)}
    newest = [found.id for found in client.iter_dead_letters(client=whose)]
    assert set(newest) == made
    assert [found.id for found in client.iter_dead_letters(client=whose, sort="oldest")] == newest[::-1]
    assert client.list_dead_letters(client=whose, sort="oldest", limit=1).items[0].id == newest[-1]


def test_a_dead_letter_is_replayed_with_changed_values(client: Client, db: psycopg.Connection[Any], whose: str) -> None:
    id = dead_letter(db, client=whose, payload={"n": 1})
    new = client.replay(id, target="python:repaired", payload=None, options={"timeout": "9s"}, note="moved")
    assert client.replay(id) == new
    found = client.get_execution(new)
    assert (found.target, found.payload, found.options) == ("python:repaired", None, {"timeout": "9s"})
    assert client.get_dead_letter(id).replayed_as == new


def test_a_bulk_replay_is_counted_started_read_and_stopped(
    client: Client, db: psycopg.Connection[Any], whose: str
) -> None:
    dead_letter(db, client=whose)
    assert client.bulk("replay", client=whose, dry_run=True) == BulkAsked(id=None, matched=1, complete=True)
    asked: Any = {"client": whose, "start": "2020-01-01T00:00:00Z"}
    started = client.bulk("replay", rate=0.5, new_target="python:repaired", **asked)
    assert started.id is not None
    found = client.get_bulk(started.id)
    assert (found.state, found.rate, found.target) == ("active", 0.5, "python:repaired")
    assert found.filter == {"client": whose, "from": "2020-01-01T00:00:00+00:00"}
    assert [client.stop_bulk(started.id) for _ in range(2)] == [True, False]


def test_a_dead_letter_is_discarded(client: Client, db: psycopg.Connection[Any], whose: str) -> None:
    one, _ = (dead_letter(db, client=whose) for _ in range(2))
    assert [client.discard(one, note="known") for _ in range(2)] == [True, False]
    assert [found.id for found in client.list_dead_letters(client=whose, state="discarded").items] == [one]


async def test_the_async_client_lists_replays_and_discards_dead_letters(
    address: str, db: psycopg.Connection[Any], whose: str
) -> None:
    replayed, discarded, _ = (dead_letter(db, client=whose) for _ in range(3))
    async with AsyncClient(address) as client:
        assert len([found.id async for found in client.iter_dead_letters(client=whose)]) == 3
        new = await client.replay(replayed)
        assert (await client.get_dead_letter(replayed)).replayed_as == new
        assert await client.discard(discarded)


def test_invalid_arguments_are_refused(client: Client, db: psycopg.Connection[Any], whose: str) -> None:
    id = dead_letter(db, client=whose)
    with pytest.raises(InvalidTarget):
        client.replay(id, target="shop.example")
    with pytest.raises(InvalidInput, match="at least one"):
        client.bulk("discard")
    with pytest.raises(InvalidSchedule, match='"start" 2026-03-01T00:00:00 has no offset'):
        client.list_dead_letters(start="2026-03-01T00:00:00")
    with pytest.raises(TypeError, match="clinet"):
        client.list_dead_letters(clinet="a")  # type: ignore[call-arg]


def test_replaying_an_execution_that_has_not_failed_is_a_conflict(client: Client) -> None:
    with pytest.raises(Conflict):
        client.replay(client.schedule("notify:a", delay="1h").id)


def test_an_unknown_id_raises_not_found(client: Client) -> None:
    for ask in (client.get_dead_letter, client.replay, client.discard, client.get_bulk, client.stop_bulk):
        with pytest.raises(NotFound):
            ask(UUID(int=1))
