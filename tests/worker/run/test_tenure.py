"""A row starts only while its lease is surely valid, checked by the monotonic clock at the moment of the start."""

import asyncio
import time
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from pgsched.delivery.failure_log import FailureLog
from pgsched.domain.attempt_outcome import Outcome, Released, Succeeded
from pgsched.domain.execution import ClaimedExecution
from pgsched.domain.execution_options import Options
from pgsched.store.core.connect import Link
from pgsched.telemetry import Events
from pgsched.worker.clock import DatabaseClock
from pgsched.worker.in_hand import InHand
from pgsched.worker.known_settings import KnownSettings
from pgsched.worker.run.attempts import Equipment
from pgsched.worker.run.client_shares import Shares
from pgsched.worker.run.dispatcher import Dispatcher
from pgsched.worker.run.payload_memory import Payloads
from tests.worker.conftest import Recorder
from tests.worker.run.test_dispatcher import Settled, rows


class Blocking:
    """A channel whose first call blocks the event loop for a while."""

    def __init__(self, seconds: float) -> None:
        self.seconds, self.delivered = seconds, list[bytes]()

    async def deliver(self, execution: ClaimedExecution, options: Options, deadline: float) -> Outcome:
        self.delivered.append(execution.id)
        if len(self.delivered) == 1:
            time.sleep(self.seconds)  # noqa: ASYNC251  like a misbehaving handler
        return Succeeded()

    async def close(self) -> None:
        """No-op."""


@pytest.fixture
async def channel() -> Blocking:
    return Blocking(0.3)


@pytest.fixture
async def settled() -> Settled:
    return Settled()


@pytest.fixture
async def dispatcher(channel: Blocking, settled: Settled, recorder: Recorder) -> AsyncIterator[Dispatcher]:
    clock = DatabaseClock()
    clock.observe(0, time.monotonic(), time.monotonic())
    equipment = Equipment(
        channel=channel,
        settle=settled.take,
        in_hand=InHand(),
        known_settings=KnownSettings(Link("postgresql://", "nowhere"), Events()),
        events=Events(recorder),
        failures=FailureLog(Events(recorder)),
        payloads=Payloads(Link("postgresql://nobody@127.0.0.1:1/none", "payloads"), 1 << 26),
        shares=Shares(lanes=2, is_wanted=lambda: False),
    )
    made = Dispatcher(equipment, clock, concurrency=2, ahead=0.02)
    settled.dispatcher = made
    made.start()
    yield made
    await made.drain(timedelta(seconds=5))


async def test_rows_whose_lease_expired_while_the_loop_was_blocked_do_not_start(
    dispatcher: Dispatcher, channel: Blocking, settled: Settled, recorder: Recorder
) -> None:
    given = rows(4)
    to_come = rows(2, fire_at=400_000, token=2)
    dispatcher.submit([*given, *to_come], time.monotonic() + 0.2)
    released = await settled.wait_for(Released, 5)
    assert channel.delivered == [given[0].id]
    assert set(released) == {row.id for row in [*given[1:], *to_come]}
    assert recorder.named("lease.doubted") == [{"count": 5}]


async def test_rows_with_valid_leases_start_after_a_blocked_loop_resumes(
    dispatcher: Dispatcher, channel: Blocking, settled: Settled
) -> None:
    dispatcher.submit(rows(4), time.monotonic() + 30)
    assert len(await settled.wait_for(Succeeded, 4)) == 4


async def test_newly_claimed_rows_start_after_doubtful_leases_are_handed_back(
    dispatcher: Dispatcher, channel: Blocking, settled: Settled
) -> None:
    dispatcher.submit(rows(2), time.monotonic() + 0.2)
    await settled.wait_for(Released, 1)
    anew = rows(2, token=2)
    dispatcher.submit(anew, time.monotonic() + 30)
    assert len(await settled.wait_for(Succeeded, 3)) == 3


async def test_a_renewal_extends_the_tenure(dispatcher: Dispatcher, channel: Blocking, settled: Settled) -> None:
    later = rows(1, fire_at=500_000)
    dispatcher.submit(later, time.monotonic() + 0.1)
    dispatcher.tenure.renewing()
    dispatcher.tenure.renewed(time.monotonic() + 30)
    assert await settled.wait_for(Succeeded, 1) == [later[0].id]


async def test_a_renewal_does_not_cover_rows_claimed_after_it_began(dispatcher: Dispatcher) -> None:
    dispatcher.tenure.renewing()
    soon = time.monotonic() + 0.1
    dispatcher.submit(rows(1, fire_at=60_000_000), soon)
    dispatcher.tenure.renewed(time.monotonic() + 30)
    assert dispatcher.tenure.until == soon


async def test_doubtful_leases_are_handed_back(dispatcher: Dispatcher, channel: Blocking, settled: Settled) -> None:
    doubtful = rows(3, fire_at=3_600_000_000)
    dispatcher.submit(doubtful, time.monotonic() - 0.1)
    dispatcher.hand_back_doubted()
    assert set(settled.of(Released)) == {row.id for row in doubtful}
    sure = rows(3, fire_at=3_600_000_000, token=2)
    dispatcher.submit(sure, time.monotonic() + 30)
    dispatcher.hand_back_doubted()
    assert len(settled.of(Released)) == 3
    assert not channel.delivered


async def test_a_worker_claims_nothing_while_its_own_lease_is_doubtful(dispatcher: Dispatcher) -> None:
    dispatcher.tenure.renewed(time.monotonic() - 0.1)
    assert (dispatcher.free, dispatcher.free_for_held) == (0, 0)
    dispatcher.tenure.renewed(time.monotonic() + 30)
    assert dispatcher.free > 0
    assert dispatcher.free_for_held > 0


async def test_a_timeout_excludes_time_in_which_the_loop_was_blocked(
    dispatcher: Dispatcher, settled: Settled, monkeypatch: pytest.MonkeyPatch
) -> None:
    go, begun = asyncio.Event(), asyncio.Event()

    async def deliver(execution: ClaimedExecution, options: Options, deadline: float) -> Outcome:
        if execution.options is None:
            await begun.wait()
            time.sleep(1.2)  # noqa: ASYNC251
            asyncio.get_running_loop().call_later(0.2, go.set)
        else:
            begun.set()
            await go.wait()
        return Succeeded()

    monkeypatch.setattr(dispatcher._attempts._channel, "deliver", deliver)
    brief = rows(1)[0]._replace(options=b'{"timeout": "1s"}')
    dispatcher.submit([brief, *rows(1, token=2)])
    assert len(await settled.wait_for(Succeeded, 2)) == 2
