"""Client and AsyncClient against the real API over real connections."""

import uuid
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import httpx
import psycopg
import pytest

from pgsched.client import AsyncClient, BulkAsked, Client, Execution, Job, JobSchedule, Page, Scheduled
from pgsched.errors import (
    Conflict,
    InvalidInput,
    InvalidOptions,
    InvalidPayload,
    InvalidSchedule,
    InvalidTarget,
    NotFound,
    PgschedError,
    Unavailable,
)
from pgsched.store.bulk.operation_types import Runs

_AT = datetime(2031, 3, 1, 9, tzinfo=UTC)


@pytest.fixture
def client(address: str) -> Iterator[Client]:
    with Client(address) as client:
        yield client


@pytest.fixture
async def async_client(address: str) -> AsyncIterator[AsyncClient]:
    async with AsyncClient(address) as client:
        yield client


def test_an_execution_reads_back_with_the_scheduled_fields(client: Client) -> None:
    asked = client.schedule(
        "https://shop.example/settle",
        payload={"merchant": 42, "name": "Müller"},
        fire_at=_AT,
        client="shop",
        key="settle-42",
        ordering_key="42",
        options={"timeout": "PT5S"},
    )
    assert asked == Scheduled(id=asked.id, kind="execution", outcome="created", fire_at=_AT)
    found = client.get_execution(asked.id)
    assert (found.payload, found.options) == ({"merchant": 42, "name": "Müller"}, {"timeout": "PT5S"})
    assert (found.client, found.key, found.ordering_key, found.fire_at) == ("shop", "settle-42", "42", _AT)
    assert (found.status, found.attempts) == ("scheduled", [])


@pytest.mark.parametrize("delay", [timedelta(minutes=10), "10m", "PT10M"])
def test_a_delay_may_be_a_timedelta_or_text(client: Client, delay: timedelta | str) -> None:
    found = client.get_execution(client.schedule("notify:a", delay=delay).id)
    assert found.fire_at == found.created_at + timedelta(minutes=10)


def test_a_zero_delay_means_now(client: Client) -> None:
    found = client.get_execution(client.schedule("notify:a", delay=timedelta(0)).id)
    assert found.fire_at == found.created_at


def test_a_job_reads_back_with_its_recurrence(client: Client) -> None:
    asked = client.schedule("notify:a", cron="30 2 * * *", timezone="Europe/Berlin", gap="skip", overlap="both")
    found = client.get_job(asked.id)
    assert asked.kind == "job"
    assert found.fire_at == asked.fire_at
    recurrence = JobSchedule(cron="30 2 * * *", timezone="Europe/Berlin", gap="skip", overlap="both")
    assert found.schedule == recurrence


def test_an_interval_reads_back_as_iso_8601(client: Client) -> None:
    asked = client.schedule("notify:a", every=timedelta(minutes=90))
    assert client.get_job(str(asked.id)).schedule == JobSchedule(every="PT1H30M")


def test_a_job_is_paused_resumed_triggered_and_cancelled(client: Client) -> None:
    job = client.schedule("notify:a", every="1h").id
    assert [client.pause(job, note="stocktaking"), client.pause(job)] == [True, False]
    assert client.get_job(job).reason == "stocktaking"
    assert [client.resume(job), client.resume(job)] == [True, False]
    assert client.get_execution(client.trigger(job)).job_id == job
    assert [client.cancel(job), client.cancel(job)] == [True, False]
    assert client.get_job(job).state == "cancelled"


def test_a_job_reads_back_with_its_rules_and_labels(client: Client) -> None:
    job = client.schedule("notify:a", every="1h", rules={"max_runs": 3}, labels={"team": "a"}).id
    found = client.get_job(job)
    assert (found.rules, found.labels, found.runs, found.paused_at) == ({"max_runs": 3}, {"team": "a"}, 0, None)
    client.pause(job)
    assert client.get_job(job).paused_at is not None


def test_an_edit_returns_the_changed_job(client: Client) -> None:
    job = client.schedule("notify:a", cron="@daily", payload={"n": 1}, labels={"team": "a"}).id
    edited = client.edit(job, every=timedelta(minutes=90), payload={"n": 2}, labels=None)
    assert edited == client.get_job(job)
    assert (edited.schedule, edited.payload, edited.labels) == (JobSchedule(every="PT1H30M"), {"n": 2}, None)
    assert (edited.target, edited.client) == ("notify:a", "default")


def test_an_intervals_anchor_can_be_edited(client: Client) -> None:
    job = client.schedule("notify:a", every="24h").id
    client.edit(job, anchor=_AT.replace(hour=2, minute=30))
    [fire] = client.preview(job, count=1).before
    assert (fire.fire_at.hour, fire.fire_at.minute) == (2, 30)


def test_an_edit_can_be_previewed(client: Client) -> None:
    job = client.schedule("notify:a", cron="30 2 * * *", timezone="Europe/Berlin").id
    found = client.preview(job, count=2, start=datetime(2026, 10, 24, 12, tzinfo=UTC), cron="30 4 * * *")
    assert [fire.local for fire in found.before] == ["2026-10-25T02:30:00+02:00", "2026-10-26T02:30:00+01:00"]
    assert [fire.local for fire in found.after] == ["2026-10-25T04:30:00+01:00", "2026-10-26T04:30:00+01:00"]
    assert found.before[0].note == "first of two 02:30: the clocks go back"
    assert client.get_job(job).schedule.cron == "30 2 * * *"


def test_a_schedule_can_be_previewed_without_a_job(client: Client) -> None:
    found = client.preview_schedule(cron="0 9 * * *", rules={"exclude": ["2026-03-01"]}, start="2026-03-01T00:00:00Z")
    assert [fire.fire_at.day for fire in found] == [2, 3, 4, 5, 6]
    [once] = client.preview_schedule(fire_at=_AT)
    assert once.fire_at == _AT
    assert client.preview_schedule(every=timedelta(hours=1), start=_AT, count=1)[0].fire_at == _AT + timedelta(hours=1)


def test_jobs_are_listed_paused_resumed_and_cancelled_by_label(client: Client) -> None:
    tenant, team = uuid.uuid4().hex, uuid.uuid4().hex
    made = [client.schedule("notify:a", every="1h", client=tenant, labels={"team": team}).id for _ in range(2)]
    client.schedule("notify:a", every="1h", client=tenant)
    assert [job.id for job in client.iter_jobs(labels={"team": team})] == made[::-1]
    assert client.bulk("pause", labels={"team": team}, note="stocktaking").matched == 2
    assert client.bulk("resume", labels={"team": team}, client=tenant).matched == 2
    assert client.bulk("cancel_jobs", client=tenant).matched == 3
    assert {job.state for job in client.iter_jobs(client=tenant)} == {"cancelled"}


def test_a_backfill_is_counted_started_and_stopped(client: Client) -> None:
    job = client.schedule("notify:a", cron="0 * * * *").id
    day: Any = {"job": job, "start": "2026-03-01T00:00:00Z", "end": datetime(2026, 3, 2, tzinfo=UTC)}
    assert client.bulk("backfill", dry_run=True, **day) == BulkAsked(id=None, matched=24, complete=True)
    started = client.bulk("backfill", rate=0.5, **day)
    assert started.id is not None
    found = client.get_bulk(started.id)
    assert (found.rate, found.state, found.runs) == (0.5, "active", Runs(live=0, finished=0, failed=0, cancelled=0))
    assert [one.id for one in client.list_bulk(job=job).items] == [started.id]
    assert client.stop_bulk(started.id)
    with pytest.raises(InvalidSchedule, match='"end" 2026-03-02T00:00:00 has no offset'):
        client.bulk("backfill", job=job, start=_AT, end="2026-03-02T00:00:00")


def test_a_bulk_action_without_a_filter_is_refused(client: Client) -> None:
    for action in ("pause", "resume", "cancel_jobs"):
        with pytest.raises(InvalidInput, match="the filter is empty"):
            client.bulk(cast(Any, action))


@pytest.mark.parametrize(
    ("kind", "changes"),
    [
        (InvalidSchedule, {"cron": "61 * * * *"}),
        (InvalidSchedule, {"cron": "@daily", "every": "1h"}),
        (InvalidSchedule, {"every": timedelta(seconds=-1)}),
        (InvalidTarget, {"target": "ftp://shop.example"}),
        (InvalidOptions, {"options": {"retries": 3}}),
        (InvalidPayload, {"payload": object()}),
        (TypeError, {"crom": "@daily"}),
        (TypeError, {"key": "other"}),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else ",".join(value),
)
def test_each_invalid_edit_raises_the_matching_error_and_changes_nothing(
    client: Client, kind: type[Exception], changes: Any
) -> None:
    job = client.schedule("notify:a", every="1h").id
    for verb in (client.edit, client.preview):
        with pytest.raises(kind):
            verb(job, **changes)
    assert client.get_job(job).schedule.every == "PT1H"


def test_an_execution_is_rescheduled_and_cancelled(client: Client) -> None:
    execution = client.schedule("notify:a", delay="1h").id
    assert client.edit_execution(execution, fire_at=_AT).fire_at == _AT
    assert client.cancel(execution)
    assert client.get_execution(execution).status == "cancelled"


def test_job_lists_are_paged_sorted_and_filtered(client: Client) -> None:
    tenant = uuid.uuid4().hex
    made = [client.schedule("notify:a", every="1h", client=tenant, key=str(n)).id for n in range(3)]
    first = client.list_jobs(client=tenant, limit=2)
    rest = client.list_jobs(client=tenant, limit=2, after=first.next)
    assert [job.id for job in first.items + rest.items] == made[::-1]
    assert rest.next is None
    assert [job.id for job in client.iter_jobs(client=tenant)] == made[::-1]
    assert [job.id for job in client.iter_jobs(client=tenant, sort="oldest")] == made
    assert client.list_jobs(client=tenant, sort="oldest", limit=1).items[0].id == made[0]
    assert [job.key for job in client.iter_jobs(client=tenant, key="1", state="active")] == ["1"]


def test_execution_lists_are_sorted_and_filtered(client: Client) -> None:
    tenant = uuid.uuid4().hex
    made = client.schedule("notify:a", fire_at=_AT, client=tenant).id
    later = client.schedule("notify:a", fire_at=_AT + timedelta(days=1), client=tenant).id
    oldest = client.list_executions(client=tenant, sort="oldest", limit=1)
    assert [execution.id for execution in oldest.items] == [made]
    assert [execution.id for execution in client.iter_executions(client=tenant, sort="oldest")] == [made, later]
    found = client.list_executions(client=tenant, start=_AT, end=_AT + timedelta(seconds=1), status="scheduled")
    assert isinstance(found, Page)
    assert client.list_executions(client=tenant, status=("held", "failed"), host="shop.example").items == []
    assert [execution.id for execution in found.items] == [made]


def test_executions_and_dead_letters_are_listed_by_label(client: Client) -> None:
    tenant = uuid.uuid4().hex
    made = client.schedule("notify:a", fire_at=_AT, client=tenant, labels={"team": "mail", "formula": "x=y"}).id
    client.schedule("notify:a", fire_at=_AT, client=tenant, labels={"team": "mail"})
    [found] = client.iter_executions(client=tenant, labels={"team": "mail", "formula": "x=y"})
    assert (found.id, found.labels) == (made, {"team": "mail", "formula": "x=y"})
    assert client.list_dead_letters(client=tenant, labels={"team": "mail"}).items == []
    assert client.bulk("replay", client=tenant, labels={"team": "mail"}, dry_run=True).matched == 0


def test_a_waiting_execution_is_edited_by_id_and_by_key(client: Client) -> None:
    tenant = uuid.uuid4().hex
    id = client.schedule("notify:a", delay="1h", client=tenant, key="k", payload={"n": 1}, labels={"team": "a"}).id
    found = client.edit_execution(id, payload={"n": 2}, labels=None, fire_at=_AT, note="see 42")
    assert (found.payload, found.labels, found.fire_at) == ({"n": 2}, None, _AT)
    assert client.edit_execution("k", client=tenant, target="notify:b").target == "notify:b"
    with pytest.raises(InvalidTarget):
        client.edit_execution(id, target="ftp://shop.example")
    with pytest.raises(TypeError, match="queue"):
        client.edit_execution(id, queue="default")  # type: ignore[call-arg]
    client.cancel(id)
    with pytest.raises(Conflict):
        client.edit_execution(id, payload=None)


def test_executions_are_counted_cancelled_and_rescheduled_in_bulk(client: Client) -> None:
    tenant = uuid.uuid4().hex
    for team in ("mail", "sales"):
        client.schedule("notify:a", fire_at=_AT, client=tenant, labels={"team": team})
    assert client.bulk("cancel", client=tenant, dry_run=True) == BulkAsked(id=None, matched=2, complete=True)
    asked = client.bulk(
        "cancel", client=tenant, labels={"team": "mail"}, status=["scheduled"], rate=5, note="taken back"
    )
    assert asked.id is not None
    found = client.get_bulk(asked.id)
    assert (asked.matched, found.action, found.state, found.rate, found.note) == (
        1,
        "cancel",
        "active",
        5,
        "taken back",
    )
    assert found.filter == {"client": tenant, "labels": {"team": "mail"}, "status": ["scheduled"]}
    moved = client.bulk("reschedule", client=tenant, start=_AT, shift=timedelta(minutes=-15))
    assert moved.id is not None
    assert client.get_bulk(moved.id).shift == timedelta(minutes=-15)
    assert client.bulk("reschedule", client=tenant, fire_at=_AT, status="held", dry_run=True).matched == 0
    assert [found.id for found in client.list_bulk(limit=2).items] == [moved.id, asked.id]
    assert [client.stop_bulk(asked.id) for _ in range(2)] == [True, False]
    with pytest.raises(InvalidSchedule):
        client.bulk("reschedule", client=tenant)
    with pytest.raises(TypeError, match="clinet"):
        client.bulk("cancel", clinet="a")  # type: ignore[call-arg]


def test_iteration_continues_past_the_first_page(client: Client, module_url: str) -> None:
    tenant = uuid.uuid4().hex
    with psycopg.connect(module_url) as connection:
        connection.execute(
            "insert into pgsched.executions (target, fire_at, client_id) "
            "select 'notify:a', now() + interval '1 day', %s from generate_series(1, 1001)",
            [tenant],
        )
    assert len({execution.id for execution in client.iter_executions(client=tenant)}) == 1001


@pytest.mark.parametrize(
    ("kind", "asked"),
    [
        (InvalidTarget, {"target": "ftp://shop.example"}),
        (InvalidOptions, {"options": {"retries": 3}}),
        (InvalidSchedule, {"cron": "61 * * * *"}),
        (InvalidSchedule, {"cron": "* * * * *", "every": "1h"}),
        (InvalidSchedule, {"fire_at": datetime(2031, 3, 1)}),
        (InvalidSchedule, {"delay": timedelta(seconds=-1)}),
        (InvalidPayload, {"payload": object()}),
        (InvalidPayload, {"payload": {1: "a number for a key"}}),
        (InvalidPayload, {"payload": "a\x00b"}),
        (InvalidPayload, {"payload": "x" * 1_100_000 + uuid.uuid4().hex * 20_000}),
        (InvalidInput, {"key": ""}),
        (NotFound, {"queue": "nowhere"}),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else ",".join(value),
)
def test_each_invalid_argument_raises_the_matching_error(client: Client, kind: type[PgschedError], asked: Any) -> None:
    with pytest.raises(kind) as raised:
        client.schedule(**({"target": "notify:a"} | asked))
    assert type(raised.value) is kind
    assert str(raised.value)


def test_a_misspelled_argument_raises_type_error(client: Client) -> None:
    with pytest.raises(TypeError, match="quue"):
        client.schedule("notify:a", quue="default")  # type: ignore[call-arg]


def test_an_ended_job_raises_conflict_and_an_unknown_id_raises_not_found(client: Client) -> None:
    job = client.schedule("notify:a", every="1h").id
    client.cancel(job)
    with pytest.raises(Conflict, match="is cancelled"):
        client.trigger(job)
    with pytest.raises(NotFound, match="there is no job"):
        client.get_job(uuid.uuid4())


def test_an_invalid_address_is_refused() -> None:
    with pytest.raises(InvalidInput, match="write one such as http://"):
        Client("localhost:8080")


def test_an_unreachable_api_raises_unavailable() -> None:
    with Client("http://127.0.0.1:1", retries=0) as client, pytest.raises(Unavailable, match="cannot be reached"):
        client.list_jobs()


async def test_the_async_client_raises_unavailable_for_an_unreachable_api() -> None:
    async with AsyncClient("http://127.0.0.1:1", retries=0) as client:
        with pytest.raises(Unavailable, match="cannot be reached"):
            await client.list_jobs()


def _failing(times: int, **first: Any) -> tuple[httpx.MockTransport, list[str]]:
    """Returns a transport that fails the first ``times`` requests, and the list of requests it received."""
    asked: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(f"{request.method} {request.url.path}")
        if len(asked) > times:
            return httpx.Response(200, json={"items": [], "next": None, "changed": True})
        if not first:
            raise httpx.ConnectError("refused", request=request)
        return httpx.Response(**first)

    return httpx.MockTransport(answer), asked


@pytest.mark.parametrize("first", [{}, {"status_code": 503}, {"status_code": 429, "headers": {"Retry-After": "0"}}])
def test_failed_read_requests_are_retried(first: dict[str, Any]) -> None:
    transport, asked = _failing(1, **first)
    with Client("http://proxy", transport=transport) as client:
        assert client.list_jobs().items == []
    assert asked == ["GET /v1/jobs"] * 2


async def test_the_async_client_retries_failed_read_requests() -> None:
    transport, asked = _failing(1)
    async with AsyncClient("http://proxy", transport=transport) as client:
        assert (await client.list_jobs()).items == []
    assert len(asked) == 2


@pytest.mark.parametrize(
    ("given", "tries"), [({}, 1), ({"key": "k"}, 2), ({"key": "k", "on_conflict": "reject"}, 1)], ids=str
)
def test_a_schedule_request_is_retried_only_if_it_is_idempotent(given: dict[str, Any], tries: int) -> None:
    transport, asked = _failing(9)
    with Client("http://proxy", transport=transport, retries=1) as client, pytest.raises(Unavailable):
        client.schedule("notify:a", **given)
    assert len(asked) == tries


def test_a_long_retry_after_ends_the_retries() -> None:
    transport, asked = _failing(9, status_code=503, headers={"Retry-After": "3600"})
    with Client("http://proxy", transport=transport) as client, pytest.raises(Unavailable):
        client.list_jobs()
    assert len(asked) == 1


def test_a_proxys_error_page_is_reported_as_unavailable() -> None:
    transport = httpx.MockTransport(lambda _: httpx.Response(502, text="<html>bad gateway</html>"))
    with (
        Client("http://proxy", transport=transport, retries=0) as client,
        pytest.raises(Unavailable, match="returned 502"),
    ):
        client.list_jobs()


def test_an_html_page_is_reported_as_not_from_a_pgsched_api() -> None:
    transport = httpx.MockTransport(lambda _: httpx.Response(200, text="<html>welcome</html>"))
    with (
        Client("http://portal", transport=transport) as client,
        pytest.raises(PgschedError, match="not from a pgsched API"),
    ):
        client.list_jobs()


def test_an_unknown_error_code_is_still_a_pgsched_error() -> None:
    problem = {"code": "pgsched.not_yet_known", "detail": "wait for it"}
    transport = httpx.MockTransport(lambda _: httpx.Response(418, json=problem))
    with Client("http://newer", transport=transport) as client, pytest.raises(PgschedError, match="returned 418"):
        client.list_jobs()


async def test_the_async_client_operates_on_jobs_and_executions(async_client: AsyncClient) -> None:
    tenant = uuid.uuid4().hex
    job = (await async_client.schedule("notify:a", every="1h", client=tenant)).id
    execution = (await async_client.schedule("notify:a", delay="1h", client=tenant)).id
    assert await async_client.pause(job, note="stocktaking")
    assert await async_client.resume(job, note="open again")
    assert (await async_client.edit(job, labels={"team": tenant})).labels == {"team": tenant}
    assert len((await async_client.preview(job, every="2h", count=3)).after) == 3
    assert len(await async_client.preview_schedule(cron="@daily")) == 5
    assert (await async_client.bulk("pause", labels={"team": tenant})).matched == 1
    assert (await async_client.bulk("resume", labels={"team": tenant})).matched == 1
    triggered = await async_client.trigger(job)
    assert (await async_client.edit_execution(execution, fire_at=_AT)).fire_at == _AT
    assert isinstance(await async_client.get_job(job), Job)
    assert isinstance(await async_client.get_execution(execution), Execution)
    assert [found.id for found in (await async_client.list_jobs(client=tenant)).items] == [job]
    listed = {found.id for found in (await async_client.list_executions(client=tenant)).items}
    assert {execution, triggered} <= listed
    assert await async_client.cancel(execution, note="ordered twice")
    asked = (await async_client.bulk("cancel", client=tenant, rate=0.1)).id
    assert asked is not None
    assert (await async_client.get_bulk(asked)).state == "active"
    assert asked in [found.id async for found in async_client.iter_bulk(action="cancel")]
    assert await async_client.stop_bulk(asked)


async def test_the_async_client_iterates_over_all_pages(async_client: AsyncClient, module_url: str) -> None:
    tenant = uuid.uuid4().hex
    with psycopg.connect(module_url) as connection:
        connection.execute(
            "insert into pgsched.executions (target, client_id, fire_at) "
            "select 'notify:a', %s, now() from generate_series(1, 501)",
            [tenant],
        )
        connection.execute(
            "insert into pgsched.jobs (target, client_id, every) "
            "select 'notify:a', %s, interval '1 hour' from generate_series(1, 501)",
            [tenant],
        )
    assert len({found.id async for found in async_client.iter_executions(client=tenant)}) == 501
    assert len({found.id async for found in async_client.iter_jobs(client=tenant)}) == 501


async def test_the_async_client_raises_invalid_target(async_client: AsyncClient) -> None:
    with pytest.raises(InvalidTarget, match="no scheme"):
        await async_client.schedule("shop.example")


def test_predecessors_may_be_named_by_id_and_by_key(client: Client) -> None:
    key = uuid.uuid4().hex
    first = client.schedule("python:extract", delay="1h")
    second = client.schedule("python:load", delay="1h", key=key)
    last = client.schedule("python:report", after=[first.id, key], after_outcome="any")
    assert last.fire_at is None
    found = client.get_execution(last.id)
    assert found.status == "held"
    assert set(found.waits_for or ()) == {first.id, second.id}


@pytest.mark.parametrize("after", ["one", uuid.UUID(int=1), [1], [None]], ids=str)
def test_an_invalid_after_argument_is_refused_before_it_is_sent(client: Client, after: Any) -> None:
    with pytest.raises(InvalidInput, match=r"the argument .after. cannot be .*: write a list of ids and keys"):
        client.schedule("python:report", after=after)


async def test_an_unknown_predecessor_raises_not_found(async_client: AsyncClient) -> None:
    with pytest.raises(NotFound, match="to wait for"):
        await async_client.schedule("python:report", after=[uuid.uuid4()])
