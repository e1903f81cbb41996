"""A small round of each benchmark: they run, and account for every execution. Their figures do not matter here."""

from pgsched.bench.drain import run_drain
from pgsched.bench.lateness import run_lateness
from pgsched.embedded import EmbeddedPostgres
from tests.benchmarks.chaos import run_chaos
from tests.benchmarks.idle import run_idle


def test_drain_accounts_for_every_execution(server: EmbeddedPostgres) -> None:
    result = run_drain(server.url, count=5_000, processes=2, waiting=1_000)
    assert result["rate"] > 0
    assert result["bare_rate"] > 0
    assert result["statements_per_execution"] < 0.5


def test_lateness_is_never_negative(server: EmbeddedPostgres) -> None:
    result = run_lateness(server.url, rate=100, seconds=2)
    assert result["count"] == 200
    assert result["min_ms"] > -1


def test_two_idle_workers_send_fewer_than_ten_statements_a_second(server: EmbeddedPostgres) -> None:
    assert run_idle(server.url, seconds=5, processes=2)["statements_per_second"] < 10


def test_nothing_is_lost_while_workers_are_killed_and_the_server_restarts() -> None:
    lines: list[str] = []
    result = run_chaos(count=6_000, processes=3, seconds=15, progress=lines.append)
    assert result["lost"] == result["settled_twice"] == 0, lines
    assert result["kills"] >= 2
    assert result["instants"] >= 10  # one a second from when the job was planned; that none is missing, the run asserts
