"""A small run of each `pgsched bench` command: it must account for every execution."""

from pgsched.bench.callbacks import run_callbacks
from pgsched.bench.drain import run_drain
from pgsched.bench.lateness import run_lateness
from pgsched.embedded import EmbeddedPostgres


def test_a_drain_accounts_for_every_execution(server: EmbeddedPostgres) -> None:
    result = run_drain(server.url, count=5_000, processes=2, waiting=1_000)
    assert result["rate"] > 0
    assert result["bare_rate"] > 0
    assert result["statements_per_execution"] < 0.5


def test_measured_lateness_is_never_negative(server: EmbeddedPostgres) -> None:
    result = run_lateness(server.url, rate=200, seconds=1, lead=0.5)
    assert result["count"] == 200
    assert result["min_ms"] > -1


def test_a_drain_without_history_accounts_for_every_delivery(server: EmbeddedPostgres) -> None:
    result = run_drain(server.url, count=2_000, processes=2, keep="nothing")
    assert result["rate"] > 0
    assert result["bare_rate"] > 0


def test_a_drain_reports_cpu_time_per_component(server: EmbeddedPostgres) -> None:
    result = run_drain(server.url, count=5_000, processes=1, bare=False)
    parts = result["server_claim_cpu_us_per_execution"] + result["server_settle_cpu_us_per_execution"]
    assert result["server_cpu_us_per_execution"] >= parts
    assert result["worker_cpu_us_per_execution"] > 0


def test_the_drain_rate_is_the_median_of_the_rounds(server: EmbeddedPostgres) -> None:
    result = run_drain(server.url, count=500, processes=1, bare=False, rounds=3)
    assert result["rate"] == sorted(one["rate"] for one in result["rounds"])[1]


def test_lateness_can_be_measured_while_scheduling(server: EmbeddedPostgres) -> None:
    result = run_lateness(server.url, rate=300, seconds=1, feed=True, lead=0.3)
    assert result["count"] == 300
    assert result["min_ms"] > -1
    assert result["p50_ms"] <= result["p90_ms"] <= result["p99_ms"] <= result["p999_ms"] <= result["max_ms"]
    assert result["claim_p99_ms"] > 0


def test_callback_rates_are_measured_for_a_worker_and_a_bare_client(server: EmbeddedPostgres) -> None:
    result = run_callbacks(server.url, count=500, processes=2)
    assert result["per_cpu_second"] > 0
    assert result["client_alone_per_cpu_second"] > 0
