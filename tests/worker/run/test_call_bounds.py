"""What a called function's session sends to the worker is bounded, whatever the function does."""

from pathlib import Path

import pytest

from tests.worker.call_arrange import LOGIN, acting, define, reason, schedule
from tests.worker.conftest import Connection, Running, until_history, value

_LONG = "repeat('m', 30000000)"
_ERROR = f"raise exception using message = {_LONG}, detail = {_LONG}, hint = {_LONG}"
_NOTICES = "set client_min_messages = notice; for n in 1..60 loop raise notice '%', repeat('n', 1000000); end loop"
_NOTIFICATIONS = (
    "listen kept; for n in 1..4000 loop perform pg_notify('kept', n || repeat('x', 7900)); end loop; "
    "insert into billing.settled values (1)"
)
_MOST = 48 * 1024
"""Maximum growth of the worker's memory, in KiB."""


class _Peak:
    """The growth of the process's peak memory from now on."""

    def __init__(self) -> None:
        Path("/proc/self/clear_refs").write_text("5")
        self._before = self._read()

    @property
    def growth(self) -> int:
        return self._read() - self._before

    def _read(self) -> int:
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))


@pytest.mark.parametrize("said", [_ERROR, _NOTICES], ids=["an error", "notices"])
async def test_a_session_that_sends_too_much_is_ended(billing: Connection, running: Running, said: str) -> None:
    await acting(billing, said)
    async with running(sql_login=LOGIN):
        peak = _Peak()
        await schedule(billing, "sql:billing.act", options='{"max_attempts": 1}')
        await until_history(billing, 1, status="failed")
        assert "sent more than 4 MiB" in await reason(billing)
        await schedule(billing)
        await until_history(billing, 1)
        assert peak.growth < _MOST


async def test_an_oversized_error_at_the_commit_is_bounded(billing: Connection, running: Running) -> None:
    await define(
        billing,
        "create function billing.later() returns trigger language plpgsql as $$ begin "
        f"{_ERROR}; end $$;"
        "create table billing.queue (n int);"
        "create constraint trigger later after insert on billing.queue deferrable initially deferred"
        " for each row execute function billing.later()",
    )
    await acting(billing, "insert into billing.queue values (1)")
    async with running(sql_login=LOGIN):
        peak = _Peak()
        await schedule(billing, "sql:billing.act", options='{"max_attempts": 1}')
        await until_history(billing, 1, status="failed")
        assert "sent more than 4 MiB" in await reason(billing)
        assert peak.growth < _MOST


async def test_notifications_a_function_sends_to_itself_are_not_kept(billing: Connection, running: Running) -> None:
    """The notifications arrive after the commit: the call has succeeded, and its session is ended."""
    await acting(billing, _NOTIFICATIONS)
    async with running(sql_login=LOGIN):
        peak = _Peak()
        await schedule(billing, "sql:billing.act")
        await until_history(billing, 1)
        await schedule(billing)
        await until_history(billing, 2)
        assert peak.growth < _MOST
    assert await value(billing, "select count(*) from billing.settled") == 2


async def test_a_long_error_within_the_bound_is_shortened(billing: Connection, running: Running) -> None:
    await acting(billing, "raise exception using message = repeat('m', 2000000), errcode = 'P0001'")
    async with running(sql_login=LOGIN):
        await schedule(billing, "sql:billing.act", options='{"max_attempts": 1}')
        await until_history(billing, 1, status="failed")
        assert (await reason(billing)).startswith("P0001: mmm")
