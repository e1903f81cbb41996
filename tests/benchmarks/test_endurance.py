"""Small rounds of the longer benchmarks run and account for every execution. The figures do not matter."""

from pgsched.embedded import EmbeddedPostgres
from tests.benchmarks.cost import run_cost
from tests.benchmarks.fleet import run_fleet
from tests.benchmarks.idle import run_idle
from tests.benchmarks.pinned import run_pinned
from tests.benchmarks.recurring import run_recurring
from tests.benchmarks.soak import run_soak
from tests.benchmarks.waiting import run_waiting


def test_the_recurring_benchmark_reports_one_shot_and_job_rates(server: EmbeddedPostgres) -> None:
    result = run_recurring(server.url, count=500, processes=1)
    assert result["one_shot_rate"] > 0
    assert result["recurring_rate"] > 0


def test_jobs_due_in_one_second_are_run_and_replanned(server: EmbeddedPostgres) -> None:
    assert run_fleet(server.url, jobs=500, processes=1, lead=5.0)["rate"] > 0


def test_the_pinned_benchmark_reports_rates_during_and_after_a_snapshot(server: EmbeddedPostgres) -> None:
    result = run_pinned(
        server.url, rate=100, seconds=1, clean=1, backlog=500, processes=1, readers=2, hold=0.2, lead=0.3
    )
    assert result["pinned_dead_rows"] >= 0
    assert result["pinned_rate_held"] > 0
    assert result["released_drain_rate"] > 0


def test_the_waiting_benchmark_reports_row_sizes_and_the_drain_rate_ratio(server: EmbeddedPostgres) -> None:
    result = run_waiting(server.url, waiting=5_000, rate=100, seconds=1, backlog=500, processes=1, lead=0.3)
    assert result["heap_bytes_per_row"] > 50
    assert result["index_bytes_per_row"] > 20
    assert result["drain_rate_ratio"] > 0


def test_a_soak_samples_the_memory_of_each_worker(server: EmbeddedPostgres) -> None:
    result = run_soak(server.url, seconds=2, backlog=1_000, every=0.5, warm_up=0.0)
    assert len(result["samples"]) == 2
    assert all(len(samples) >= 3 for samples in result["samples"])
    assert result["rss_max_mb"] > 0
    assert len(result["growth_mb_per_hour"]) == 2


def test_a_soak_runs_at_roughly_the_requested_rate(server: EmbeddedPostgres) -> None:
    result = run_soak(server.url, seconds=2, rate=500, every=0.5)
    assert 500 <= result["count"] < 2_500


def test_the_cost_benchmark_reports_each_statement_at_each_batch_size(server: EmbeddedPostgres) -> None:
    result = run_cost(server.url, batches=(5, 20), calls=4)
    told = {(one["statement"], one["batch"]): one for one in result["statements"]}
    for name in ("schedule_batch", "claim", "settle_succeeded", "settle_discarded", "plan"):
        assert told[name, 5]["rows_per_call"] == 5
        assert told[name, 20]["us_per_row"] > 0
    assert told["schedule_single", 1]["wal_bytes_per_row"] > 0


def test_two_idle_workers_send_fewer_than_ten_statements_a_second() -> None:
    # Workers send some statements only every five seconds, so every period of ten seconds has the same number.
    assert run_idle(None, seconds=10, processes=2)["statements_per_second"] < 10
