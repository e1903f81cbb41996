"""How many rows a worker takes in hand, and which it hands back when attempts become slow."""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from datetime import timedelta
from typing import Any

import pytest

from pgsched.delivery.app import App
from pgsched.delivery.failure_log import FailureLog
from pgsched.delivery.handler_call import Context
from pgsched.domain.attempt_outcome import Late, Outcome, Released, Succeeded
from pgsched.domain.execution import ClaimedExecution
from pgsched.domain.execution_options import Options
from pgsched.scheduler import Worker
from pgsched.store.core.connect import Link
from pgsched.telemetry import Events
from pgsched.worker.clock import DatabaseClock
from pgsched.worker.in_hand import InHand
from pgsched.worker.known_settings import KnownSettings
from pgsched.worker.run.attempts import Equipment
from pgsched.worker.run.client_shares import Shares
from pgsched.worker.run.dispatcher import Dispatcher
from pgsched.worker.run.payload_memory import Payloads
from tests.worker.conftest import Connection, Recorder, Running, until, until_history, value

LANES = 4
AHEAD = 0.02


class Gate:
    """A channel that answers at once while it is open, and otherwise once it opens."""

    def __init__(self) -> None:
        self.opened = asyncio.Event()
        self.opened.set()
        self.delivered: list[bytes] = []

    async def deliver(self, execution: ClaimedExecution, options: Options, deadline: float) -> Outcome:
        self.delivered.append(execution.id)
        if not self.opened.is_set():
            await self.opened.wait()
        return Succeeded()

    async def close(self) -> None:
        """No-op."""


class Settled:
    """Takes outcomes like the settler, and lets a test wait for a number of them."""

    def __init__(self) -> None:
        self.outcomes: list[tuple[bytes, Outcome]] = []
        self.dispatcher: Dispatcher
        self._arrived = asyncio.Event()

    def take(self, row: ClaimedExecution, options: Options, outcome: Outcome, seconds: float) -> None:
        self.outcomes.append((row.id, outcome))
        self.dispatcher.in_hand.leave([row.id], [row.token])
        self._arrived.set()

    def of(self, kind: type[Outcome]) -> list[bytes]:
        return [id for id, outcome in self.outcomes if isinstance(outcome, kind)]

    async def wait_for(self, kind: type[Outcome], count: int) -> list[bytes]:
        async with asyncio.timeout(10):
            while len(self.of(kind)) < count:
                self._arrived.clear()
                await self._arrived.wait()
        return self.of(kind)


@pytest.fixture
async def gate() -> Gate:
    return Gate()


@pytest.fixture
async def settled() -> Settled:
    return Settled()


@pytest.fixture
async def room() -> asyncio.Event:
    """Set when the dispatcher reports that there is room again."""
    return asyncio.Event()


@pytest.fixture
async def dispatcher(
    gate: Gate, settled: Settled, room: asyncio.Event, recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Dispatcher]:
    monkeypatch.setattr("pgsched.worker.run.attempt_timeouts._WATCH_EVERY", 0.005)
    clock = DatabaseClock()
    clock.observe(0, time.monotonic(), time.monotonic())
    directory = KnownSettings(Link("postgresql://", "nowhere"), Events())
    directory._options = {"brief": (b'{"relevant_for": "60s"}',)}
    equipment = Equipment(
        channel=gate,
        settle=settled.take,
        in_hand=InHand(),
        known_settings=directory,
        events=Events(recorder),
        failures=FailureLog(Events(recorder)),
        payloads=Payloads(Link("postgresql://nobody@127.0.0.1:1/none", "payloads"), 1 << 26),
        shares=Shares(lanes=LANES, is_wanted=lambda: False),
    )
    made = Dispatcher(equipment, clock, concurrency=LANES, ahead=AHEAD)
    settled.dispatcher = made
    made.room.connect(room.set)
    made.start()
    yield made
    gate.opened.set()
    await made.drain(timedelta(seconds=5))


def rows(count: int, *, fire_at: int = 0, token: int = 1) -> list[ClaimedExecution]:
    """Rows at this instant, by default due ones."""
    return [
        ClaimedExecution(
            partition=0, id=f"{token:08}{n:08}".encode(), token=token, attempt=1, fire_at=fire_at,
            scheduled_for=fire_at, client_id="default", target="python:x", payload=None, options=None, job_id=None,
            plan=None, key=None, ordering_key=None,
        )
        for n in range(count)
    ]  # fmt: skip


async def warm(dispatcher: Dispatcher, settled: Settled) -> None:
    """Deliver quick rows, never more than there is room for, until the dispatcher knows that attempts are quick."""
    for token in range(100, 200):
        before = len(settled.outcomes)
        given = rows(min(dispatcher.free, 20), token=token)
        dispatcher.submit(given)
        await settled.wait_for(Succeeded, before + len(given))
    settled.outcomes.clear()


async def grown(condition: Callable[[], bool]) -> None:
    """Wait for a condition that only time brings about: no event says that attempts have become slow."""
    async with asyncio.timeout(10):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.005)


async def test_a_new_dispatcher_has_room_for_two_rows_per_lane(dispatcher: Dispatcher) -> None:
    assert dispatcher.capacity == dispatcher.free == 2 * LANES


@pytest.mark.timed
async def test_quick_attempts_make_room_for_more_rows_than_lanes(dispatcher: Dispatcher, settled: Settled) -> None:
    await warm(dispatcher, settled)
    assert dispatcher.capacity > 20 * LANES


@pytest.mark.timed
async def test_room_is_bounded_however_quick_attempts_are(dispatcher: Dispatcher, settled: Settled) -> None:
    for _ in range(10):
        await warm(dispatcher, settled)
    assert dispatcher.capacity <= LANES + 4000


@pytest.mark.timed
async def test_slow_attempts_leave_room_for_one_row_per_lane(
    dispatcher: Dispatcher, gate: Gate, settled: Settled
) -> None:
    await warm(dispatcher, settled)
    gate.opened.clear()
    dispatcher.submit(rows(LANES))
    await grown(lambda: dispatcher.capacity == LANES)
    assert dispatcher.free == 0


@pytest.mark.timed
async def test_one_slow_attempt_does_not_reduce_the_capacity(
    dispatcher: Dispatcher, gate: Gate, settled: Settled
) -> None:
    await warm(dispatcher, settled)
    gate.opened.clear()
    before = len(gate.delivered)
    dispatcher.submit(rows(1))
    await grown(lambda: len(gate.delivered) > before)
    gate.opened.set()
    await warm(dispatcher, settled)
    assert dispatcher.capacity > 20 * LANES


async def slow_down(
    dispatcher: Dispatcher, gate: Gate, settled: Settled, given: Sequence[ClaimedExecution], *, back: int
) -> list[bytes]:
    """Submit rows as attempts become slow. Returns the rows handed back, once there are ``back`` of them."""
    await warm(dispatcher, settled)
    gate.opened.clear()
    dispatcher.submit(list(given))
    return await settled.wait_for(Released, back)


@pytest.mark.timed
async def test_ready_rows_beyond_the_capacity_are_handed_back(
    dispatcher: Dispatcher, gate: Gate, settled: Settled
) -> None:
    released = await slow_down(dispatcher, gate, settled, rows(60), back=60 - 2 * LANES)
    assert len(released) == 60 - 2 * LANES
    assert len(dispatcher.in_hand) == 2 * LANES


@pytest.mark.timed
async def test_rows_that_would_start_last_are_handed_back(dispatcher: Dispatcher, gate: Gate, settled: Settled) -> None:
    given = rows(60)
    released = await slow_down(dispatcher, gate, settled, given, back=60 - 2 * LANES)
    assert sorted(released) == [row.id for row in given[2 * LANES :]]


@pytest.mark.timed
async def test_each_row_is_delivered_once_or_handed_back_once(
    dispatcher: Dispatcher, gate: Gate, settled: Settled
) -> None:
    given = rows(60)
    released = await slow_down(dispatcher, gate, settled, given, back=60 - 2 * LANES)
    gate.opened.set()
    delivered = await settled.wait_for(Succeeded, 2 * LANES)
    assert Counter(delivered + released) == Counter(row.id for row in given)
    assert not set(gate.delivered) & set(released)
    assert not dispatcher.in_hand


@pytest.mark.timed
async def test_rows_not_yet_due_are_not_handed_back(dispatcher: Dispatcher, gate: Gate, settled: Settled) -> None:
    due, to_come = rows(60), rows(60, fire_at=3_600_000_000, token=2)
    released = await slow_down(dispatcher, gate, settled, [*to_come, *due], back=60 - 2 * LANES)
    assert set(released) <= {row.id for row in due}


async def test_room_is_reported_once_half_of_the_capacity_is_free(
    dispatcher: Dispatcher, gate: Gate, settled: Settled, room: asyncio.Event
) -> None:
    gate.opened.clear()
    dispatcher.submit(rows(2 * LANES))
    assert dispatcher.free == 0
    assert not room.is_set()
    gate.opened.set()
    async with asyncio.timeout(10):
        await room.wait()
    assert dispatcher.free >= dispatcher.capacity // 2


@pytest.fixture
def slowing() -> tuple[App, asyncio.Event, list[str]]:
    """Handlers ``quick`` and ``slow``, the event that ends ``slow``, and the executions it was called for."""
    app, go, calls = App(), asyncio.Event(), list[str]()

    @app.handler("quick")
    async def quick() -> None:
        return None

    @app.handler("slow")
    async def slow(payload: Any, context: Context) -> None:
        calls.append(context.execution_id)
        await go.wait()

    return app, go, calls


MANY = "insert into pgsched.executions (target, payload, fire_at) select %s, '{}', now() from generate_series(1, %s)"


async def hand_back(db: Connection, worker: Worker) -> None:
    """Let the worker claim a thousand quick rows, then five hundred slow ones, most of which it hands back."""
    await db.execute(MANY, ["python:quick", 1000])
    await until_history(db, 1000)
    await db.execute(MANY, ["python:slow", 500])

    async def handed_back() -> bool:
        return worker.parts.settler.settled_count >= 1400

    await until(handed_back)


@pytest.mark.timed
async def test_handed_back_rows_are_executed_when_there_is_room(
    db: Connection, running: Running, slowing: tuple[App, asyncio.Event, list[str]]
) -> None:
    app, go, calls = slowing
    async with running(app, concurrency=10) as worker:
        await hand_back(db, worker)
        go.set()
        await until_history(db, 1500)
    assert len(calls) == len(set(calls)) == 500
    assert await value(db, "select max(attempt) from pgsched.history") == 1


@pytest.mark.timed
async def test_handed_back_rows_are_claimed_again_before_the_next_poll(
    db: Connection, running: Running, slowing: tuple[App, asyncio.Event, list[str]]
) -> None:
    app, go, _ = slowing
    async with running(app, concurrency=10, poll_interval=30.0) as worker:
        await hand_back(db, worker)
        go.set()
        await until_history(db, 1500, seconds=20)


async def test_a_row_past_its_clients_relevant_for_period_expires(
    dispatcher: Dispatcher, settled: Settled, gate: Gate
) -> None:
    late = [row._replace(client_id="brief") for row in rows(1, fire_at=-61_000_000)]
    dispatcher.submit(late)
    assert await settled.wait_for(Late, 1) == [late[0].id]


async def test_a_row_delayed_by_jitter_does_not_expire(dispatcher: Dispatcher, settled: Settled, gate: Gate) -> None:
    gate.opened.set()
    spread = [row._replace(client_id="brief", start_at=-1_000_000) for row in rows(1, fire_at=-61_000_000)]
    dispatcher.submit(spread)
    assert await settled.wait_for(Succeeded, 1) == [spread[0].id]


async def test_a_rows_relevant_for_option_overrides_the_clients_default(
    dispatcher: Dispatcher, settled: Settled, gate: Gate
) -> None:
    gate.opened.set()
    late = [row._replace(client_id="brief", options=b'{"relevant_for": "2m"}') for row in rows(1, fire_at=-61_000_000)]
    dispatcher.submit(late)
    assert await settled.wait_for(Succeeded, 1) == [late[0].id]


async def test_a_backfilled_row_ignores_its_clients_relevant_for_option(
    dispatcher: Dispatcher, settled: Settled, gate: Gate
) -> None:
    gate.opened.set()
    late = [row._replace(client_id="brief", plan=0) for row in rows(1, fire_at=-61_000_000)]
    dispatcher.submit(late)
    assert await settled.wait_for(Succeeded, 1) == [late[0].id]


async def test_many_rows_of_one_client_do_not_delay_another_client(
    dispatcher: Dispatcher, gate: Gate, settled: Settled
) -> None:
    dispatcher.shares.wanted = True
    dispatcher.shares.scarce = 0
    [one] = rows(1, token=2)
    dispatcher.submit([*rows(100), one._replace(client_id="another")])
    await settled.wait_for(Succeeded, 101)
    assert gate.delivered.index(one.id) == 8
