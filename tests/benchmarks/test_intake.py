"""Small rounds of the intake benchmarks run and account for every execution. The figures do not matter."""

from pgsched.embedded import EmbeddedPostgres
from tests.benchmarks.batch import run_batch
from tests.benchmarks.bulk import run_bulk
from tests.benchmarks.pickup import run_pickup
from tests.benchmarks.requests import run_requests
from tests.benchmarks.schedule import run_schedule
from tests.benchmarks.writers import run_writers


def test_the_bulk_benchmark_reports_each_methods_rate(server: EmbeddedPostgres) -> None:
    result = run_bulk(server.url, count=2_500, rounds=2)
    assert result["insert_select_rate"] > 0
    assert result["copy_rate"] > 0
    assert result["sdk_rate"] > 0
    assert result["ratio"] > 0
    assert len(result["rounds"]) == 2


def test_the_schedule_benchmark_reports_percentiles_per_variant(server: EmbeddedPostgres) -> None:
    result = run_schedule(server.url, count=50)
    for way in ("later", "now", "sdk", "bare"):
        assert 0 < result[f"{way}_p50_ms"] <= result[f"{way}_p99_ms"] <= result[f"{way}_max_ms"]


def test_the_requests_benchmark_compares_requests_with_and_without_keys(server: EmbeddedPostgres) -> None:
    result = run_requests(server.url, callers=2, seconds=0.5, queues=2)
    assert result["plain_rate"] > 0
    assert result["keyed_rate"] > 0
    assert result["ratio"] > 0
    assert result["keyed_api_cpu_us"] > 0


def test_the_batch_benchmark_reports_each_modes_rate(server: EmbeddedPostgres) -> None:
    result = run_batch(server.url, count=6_000)
    assert result["all_rate"] > 0
    assert result["each_rate"] > 0
    assert result["refused"].startswith("line 5999: ")


def test_writers_send_notifications_only_if_enabled(server: EmbeddedPostgres) -> None:
    result = run_writers(server.url, writers=2, seconds=0.5, processes=1)
    assert result["scheduled_on"] >= result["notifications_on"] > 0
    assert result["scheduled_off"] > result["notifications_off"] == 0
    assert result["ratio"] > 0


def test_pickup_never_happens_before_the_commit(server: EmbeddedPostgres) -> None:
    result = run_pickup(server.url, count=20, processes=1)
    assert 0 < result["p50_ms"] <= result["p90_ms"] <= result["p99_ms"] <= result["max_ms"]
    assert result["answered_p50_ms"] < result["p50_ms"]
