"""Failing targets, with whole workers: sidelined, probed, and called again once they recover."""

import asyncio

import pytest

from tests.delivery.receiver import Receiver, Request, receiving
from tests.worker.conftest import Connection, Recorder, Running, until, until_history, value

CALLS = """
insert into pgsched.executions (client_id, target, fire_at, options)
select %s, %s, now() - interval '1 minute' + n * interval '1 ms', '{"backoff": ["1s"], "max_attempts": 100}'
  from generate_series(1, %s) n"""
CIRCUIT = "select count(*) from pgsched_internal.gates where name like 'circuit:%%'"


FAILED = b"HTTP/1.1 500 Oops\r\ncontent-length: 0\r\n\r\n"


class Target:
    """A target with a configurable answer for all paths or for one."""

    def __init__(self) -> None:
        self.answer = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"
        self.at: dict[str, bytes] = {}

    def fail(self, headers: bytes = b"") -> None:
        self.answer = b"HTTP/1.1 503 Busy\r\n" + headers + b"content-length: 0\r\n\r\n"

    def recover(self) -> None:
        self.answer = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"

    async def __call__(self, request: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(self.at.get(request.path.partition("?")[0], self.answer))


@pytest.fixture
def target() -> Target:
    return Target()


async def call(db: Connection, receiver: Receiver, count: int, client: str = "shop") -> None:
    await db.execute(CALLS.encode(), [client, receiver.url + "/", count])


async def test_a_failing_target_is_sidelined_and_called_again_after_recovery(
    running: Running, db: Connection, target: Target, recorder: Recorder
) -> None:
    target.fail()
    async with receiving(target) as receiver, running(recovery_rate=1000):
        await call(db, receiver, 400)
        await recorder.wait_for("target.sidelined")
        await until(lambda: value(db, "select 1 from pgsched.executions where gate is not null having count(*) > 300"))
        while_down = len(receiver.requests)
        target.recover()
        await until_history(db, 400, seconds=40)
    assert while_down < 150


async def test_all_workers_obey_a_targets_retry_after_header(
    running: Running, db: Connection, target: Target, recorder: Recorder
) -> None:
    target.fail(b"retry-after: 3600\r\n")
    async with receiving(target) as receiver, running():
        await call(db, receiver, 1)
        await recorder.wait_for("target.sidelined")
        async with running():
            await call(db, receiver, 20)
            await until(
                lambda: value(db, "select 1 from pgsched.executions where gate is not null having count(*) = 20")
            )
            assert len(receiver.requests) == 1
    assert await value(db, "select shut_until > now() + interval '50 minutes' from pgsched_internal.gates")


@pytest.mark.parametrize("status", [b"429 Slow Down", b"503 Busy"])
async def test_a_retry_after_header_from_one_path_does_not_hold_back_other_paths(
    running: Running, db: Connection, target: Target, status: bytes
) -> None:
    target.at["/a"] = b"HTTP/1.1 " + status + b"\r\nretry-after: 3600\r\ncontent-length: 0\r\n\r\n"
    async with receiving(target) as receiver, running():
        await db.execute(CALLS.encode(), ["shop", receiver.url + "/a?b", 1])
        await until(lambda: value(db, CIRCUIT))
        await db.execute(CALLS.encode(), ["shop", receiver.url + "/b", 20])
        await until_history(db, 20)
    assert (await value(db, "select name from pgsched_internal.gates")).endswith("/a shop")


async def test_a_failing_path_does_not_hold_back_other_paths(running: Running, db: Connection, target: Target) -> None:
    target.at["/a"] = FAILED
    async with receiving(target) as receiver, running(sideline_after=3):
        await db.execute(CALLS.encode(), ["shop", receiver.url + "/a", 50])
        await until(lambda: value(db, "select 1 from pgsched_internal.gates where openings >= 2"))
        await db.execute(CALLS.encode(), ["shop", receiver.url + "/b", 20])
        await until_history(db, 20)
    assert (await value(db, "select name from pgsched_internal.gates")).endswith("/a shop")


@pytest.mark.parametrize("headers", [b"", b"retry-after: 3600\r\n"])
async def test_a_host_with_many_failing_paths_is_sidelined_as_a_whole(
    running: Running, db: Connection, target: Target, headers: bytes
) -> None:
    target.fail(headers)
    async with receiving(target) as receiver, running(sideline_after=9):
        for path in range(9):
            await db.execute(CALLS.encode(), ["shop", f"{receiver.url}/{path}", 1])
        host = receiver.url.removeprefix("http://")
        await until(lambda: value(db, "select 1 from pgsched_internal.gates where name = %s", f"circuit:{host} shop"))


async def test_a_host_sidelined_for_one_client_stays_open_to_other_clients(
    running: Running, db: Connection, target: Target
) -> None:
    target.fail(b"retry-after: 3600\r\n")
    async with receiving(target) as receiver, running():
        await call(db, receiver, 1)
        await until(lambda: value(db, CIRCUIT))
        target.recover()
        await call(db, receiver, 5, "another")
        await until_history(db, 5)


async def test_a_failed_probe_sidelines_the_target_for_longer(running: Running, db: Connection, target: Target) -> None:
    target.fail()
    async with receiving(target) as receiver, running(sideline_after=1):
        await call(db, receiver, 3)
        await until(lambda: value(db, "select 1 from pgsched_internal.gates where openings >= 3"))
        requests = len(receiver.requests)
        openings = await value(db, "select openings from pgsched_internal.gates")
        # the target was sidelined for one second, and then for two
        assert await value(db, "select failing_since < updated_at - interval '3 s' from pgsched_internal.gates")
    assert requests <= 3 + openings


async def test_final_failures_do_not_sideline_the_target(running: Running, db: Connection, target: Target) -> None:
    target.answer = b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n"
    async with receiving(target) as receiver, running(sideline_after=1):
        await call(db, receiver, 30)
        await until_history(db, 30, status="failed")
    assert await value(db, CIRCUIT) == 0


async def test_a_circuit_is_removed_once_the_target_has_recovered(
    running: Running, db: Connection, target: Target, recorder: Recorder
) -> None:
    await db.execute(
        "insert into pgsched_internal.gates (name, recovers_from) values ('circuit:a.example shop', now() -"
        " interval '1 minute')"
    )
    async with running():
        await recorder.wait_for("target.recovered")
    assert await value(db, CIRCUIT) == 0


async def test_a_response_with_a_null_byte_still_sidelines_the_target(
    running: Running, db: Connection, target: Target, recorder: Recorder
) -> None:
    target.answer = b"HTTP/1.1 500 Oops\r\ncontent-length: 3\r\n\r\na\0b"
    async with receiving(target) as receiver, running(sideline_after=1):
        await call(db, receiver, 3)
        await recorder.wait_for("target.sidelined")
    assert "a\N{REPLACEMENT CHARACTER}b" in await value(db, "select reason from pgsched_internal.gates")


async def test_a_circuit_that_cannot_be_stored_does_not_block_other_circuits(
    running: Running, db: Connection, target: Target, recorder: Recorder
) -> None:
    target.fail()
    await db.execute("alter table pgsched_internal.gates add check (name not like '%% refused')")
    async with receiving(target) as receiver, running(sideline_after=1):
        await call(db, receiver, 1, "refused")
        await recorder.wait_for("target.not_sidelined")
        await call(db, receiver, 1)
        await recorder.wait_for("target.sidelined")


async def test_a_host_paused_by_hand_recovers_even_if_sidelining_is_off(
    running: Running, db: Connection, target: Target
) -> None:
    async with receiving(target) as receiver, running(sideline_after=0, recovery_rate=1000):
        host = receiver.url.removeprefix("http://")
        await db.execute(
            "select pgsched.pause('target', %s, client => 'shop', until => now() + interval '0.3 s')", [host]
        )
        await call(db, receiver, 40)
        await until_history(db, 40)
