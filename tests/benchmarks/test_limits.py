"""Small rounds of the limit benchmarks run and account for every execution. The figures do not matter."""

import pytest
from click.testing import CliRunner

from pgsched.embedded import EmbeddedPostgres
from tests.benchmarks.behind import run_behind
from tests.benchmarks.fairness import fairness, run_fairness
from tests.benchmarks.orderly import run_orderly
from tests.benchmarks.outage import run_outage
from tests.benchmarks.tenants import run_tenants


def test_the_tenants_benchmark_reports_the_limited_rate_and_lateness(server: EmbeddedPostgres) -> None:
    result = run_tenants(server.url, backlog=2_000, limit=20, rate=20, seconds=6, processes=2)
    assert 0 < result["passed_a_second"] <= 21
    assert result["beside_max_ms"] >= result["beside_p50_ms"] >= 0


def test_the_behind_benchmark_reports_how_long_rows_behind_a_backlog_wait(server: EmbeddedPostgres) -> None:
    result = run_behind(server.url, beside="all", due=200, spinning=0, repeats=1, processes=1, progress=lambda _: None)
    assert result["longest_seconds"] >= result["median_seconds"] > 0


def test_all_clients_shares_add_up_to_100_percent(server: EmbeddedPostgres, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.benchmarks.fairness._FOUND_OUT", 0.1)
    result = run_fairness(server.url, backlog=80_000, weights=[1, 3], seconds=0.5, processes=1)
    assert result["client-1_percent"] + result["client-2_percent"] == pytest.approx(100, abs=0.02)


def test_no_call_is_lost_in_a_target_outage(server: EmbeddedPostgres) -> None:
    result = run_outage(server.url, rate=50, down=3, after=1, processes=1)
    assert result["lost"] == 0
    assert result["calls_while_down"] < 200


def test_ordered_executions_stay_in_order_when_workers_are_killed() -> None:
    result = run_orderly(keys=30, executions=5, failures=0.2, processes=2)
    assert result["out_of_order"] == 0
    assert result["attempts"] >= 150


@pytest.mark.parametrize("weights", ["1", "1,x", "0,1", "1,101", ""])
def test_invalid_weights_are_refused(weights: str) -> None:
    result = CliRunner().invoke(fairness, ["--weights", weights])
    assert (result.exit_code, "such as 1,2,5" in result.output) == (2, True)
