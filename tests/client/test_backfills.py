"""Backfills by Client and AsyncClient, against the real API."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from pgsched.client import AsyncClient, Backfilled, Client
from pgsched.errors import InvalidInput, InvalidSchedule, NotFound

MARCH = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.fixture
def client(address: str) -> Iterator[Client]:
    with Client(address) as client:
        yield client


@pytest.fixture
def job(client: Client) -> UUID:
    return client.schedule("notify:a", cron="0 * * * *").id


def test_a_dry_run_counts(client: Client, job: UUID) -> None:
    counted = client.backfill(job, start=MARCH, end="2026-03-02T00:00:00Z", dry_run=True)
    assert counted == Backfilled(id=None, job_id=job, instants=24, run_already=0, to_run=24)


def test_a_backfill_is_started_looked_at_and_cancelled(client: Client, job: UUID) -> None:
    started = client.backfill(job, start=MARCH, end=MARCH + timedelta(days=1), rate=0.5)
    assert started.id is not None
    found = client.get_backfill(started.id)
    assert (found.job_id, found.starts_at, found.rate, found.state, found.instants) == (job, MARCH, 0.5, "active", 24)
    assert [client.cancel_backfill(started.id) for _ in range(2)] == [True, False]


async def test_the_async_client_does_the_same(address: str, job: UUID) -> None:
    async with AsyncClient(address) as client:
        started = await client.backfill(job, start=MARCH, end=MARCH + timedelta(days=1))
        assert started.id is not None
        assert (await client.get_backfill(started.id)).rate == 10
        assert await client.cancel_backfill(started.id)


def test_an_instant_without_an_offset_is_refused_before_anything_is_sent(client: Client, job: UUID) -> None:
    with pytest.raises(InvalidSchedule, match="end 2026-03-02T00:00:00 has no offset"):
        client.backfill(job, start=MARCH, end="2026-03-02T00:00:00")


def test_a_rate_that_cannot_be_meant_is_refused(client: Client, job: UUID) -> None:
    with pytest.raises(InvalidInput, match="rate"):
        client.backfill(job, start=MARCH, end=MARCH + timedelta(days=1), rate=0)


def test_what_is_not_there_is_not_found(client: Client) -> None:
    with pytest.raises(NotFound):
        client.get_backfill(UUID(int=1))
