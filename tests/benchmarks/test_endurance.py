"""Small rounds of the longer benchmarks: they run, and account for every execution. Their figures do not matter."""

from pgsched.bench.callbacks import run_callbacks
from pgsched.bench.drain import run_drain
from pgsched.bench.lateness import run_lateness
from pgsched.embedded import EmbeddedPostgres
from tests.benchmarks.cost import run_cost
from tests.benchmarks.fleet import run_fleet
from tests.benchmarks.pinned import run_pinned
from tests.benchmarks.recurring import run_recurring
from tests.benchmarks.soak import run_soak
from tests.benchmarks.waiting import run_waiting


def test_a_drain_that_keeps_nothing_accounts_for_every_delivery(server: EmbeddedPostgres) -> None:
    result = run_drain(server.url, count=2_000, processes=2, keep="nothing")
    assert result["rate"] > 0
    assert result["bare_rate"] > 0


def test_a_drain_tells_where_the_time_went(server: EmbeddedPostgres) -> None:
    result = run_drain(server.url, count=5_000, processes=1, bare=False)
    parts = result["server_claim_cpu_us_per_execution"] + result["server_settle_cpu_us_per_execution"]
    assert result["server_cpu_us_per_execution"] >= parts
    assert result["worker_cpu_us_per_execution"] > 0


def test_rounds_are_told_with_their_medians(server: EmbeddedPostgres) -> None:
    result = run_drain(server.url, count=500, processes=1, bare=False, rounds=3)
    assert result["rate"] == sorted(one["rate"] for one in result["rounds"])[1]


def test_executions_can_be_scheduled_while_lateness_is_measured(server: EmbeddedPostgres) -> None:
    result = run_lateness(server.url, rate=300, seconds=1, feed=True, lead=0.3)
    assert result["count"] == 300
    assert result["min_ms"] > -1
    assert result["p50_ms"] <= result["p90_ms"] <= result["p99_ms"] <= result["p999_ms"] <= result["max_ms"]
    assert result["claim_p99_ms"] > 0


def test_every_callback_arrives_once_by_each_of_the_senders(server: EmbeddedPostgres) -> None:
    result = run_callbacks(server.url, count=500, processes=2)
    assert result["per_cpu_second"] > 0
    assert result["client_alone_per_cpu_second"] > 0
    assert result["bare_protocol_per_cpu_second"] > 0


def test_recurring_jobs_leave_one_row_each_behind(server: EmbeddedPostgres) -> None:
    result = run_recurring(server.url, count=1_000, processes=2)
    assert result["one_shot_rate"] > 0
    assert result["recurring_rate"] > 0


def test_a_fleet_that_is_due_at_one_second_runs_and_is_planned_anew(server: EmbeddedPostgres) -> None:
    assert run_fleet(server.url, jobs=1_000, processes=2, lead=5.0)["rate"] > 0


def test_the_phases_of_a_held_snapshot_are_accounted_for(server: EmbeddedPostgres) -> None:
    result = run_pinned(
        server.url, rate=100, seconds=1, clean=1, backlog=500, processes=1, readers=2, hold=0.2, lead=0.3
    )
    assert result["pinned_dead_rows"] >= 0
    assert result["pinned_rate_held"] > 0
    assert result["released_drain_rate"] > 0


def test_rows_that_wait_are_all_there_afterwards(server: EmbeddedPostgres) -> None:
    result = run_waiting(server.url, waiting=5_000, rate=100, seconds=1, backlog=500, processes=1, lead=0.3)
    assert result["heap_bytes_per_row"] > 50
    assert result["index_bytes_per_row"] > 20
    assert result["drain_rate_ratio"] > 0


def test_a_soak_samples_the_memory_of_each_worker(server: EmbeddedPostgres) -> None:
    result = run_soak(server.url, seconds=2, backlog=2_000, every=0.5, warm_up=0.0)
    assert len(result["samples"]) == 2
    assert all(len(samples) >= 3 for samples in result["samples"])
    assert result["rss_max_mb"] > 0
    assert len(result["growth_mb_per_hour"]) == 2


def test_a_soak_keeps_to_the_rate_it_is_given(server: EmbeddedPostgres) -> None:
    result = run_soak(server.url, seconds=2, rate=500, every=0.5)
    assert 500 <= result["count"] < 2_500


def test_each_statement_has_its_cost_at_each_batch_size(server: EmbeddedPostgres) -> None:
    result = run_cost(server.url, batches=(5, 20), calls=4)
    told = {(one["statement"], one["batch"]): one for one in result["statements"]}
    for name in ("schedule_batch", "claim", "settle_succeeded", "settle_discarded", "plan"):
        assert told[name, 5]["rows_per_call"] == 5
        assert told[name, 20]["us_per_row"] > 0
    assert told["schedule_single", 1]["wal_bytes_per_row"] > 0
