"""What worker processes count, how counts are collected and summed, and the resulting metrics page."""

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from pgsched.metrics import catalogue
from pgsched.metrics.counters import Counters
from pgsched.metrics.counts import Counts
from pgsched.metrics.exposition import page
from pgsched.metrics.files import Counting, Reading, Writing
from pgsched.observer import AttemptsEnded, BatchClaimed, BatchSettled, QueueOutcome, Timed
from pgsched.telemetry import Events

Read = dict[tuple[str, tuple[str, ...]], float]


def read(text: bytes) -> Read:
    """Parses a page. Keys are a sample's name and label values, with ``queue`` first."""
    found = {}
    for family in text_string_to_metric_families(text.decode()):
        for sample in family.samples:
            labels = sorted(sample.labels.items(), reverse=True)
            found[sample.name, tuple(value for _, value in labels)] = sample.value
    return found


def attempts(
    *outcomes: str,
    queue: int = 0,
    lateness: float = 1.0,
    seconds: float = 0.5,
    weight: int = 1,
    committed: int = 0,
    unclaimed: float | None = None,
) -> AttemptsEnded:
    """Returns one client's attempts. Attempts that took place are timed."""
    one = Timed(queue, "shop", lateness, seconds, weight, unclaimed)
    timed = [one for outcome in outcomes if outcome not in ("late", "released")]
    clients = {QueueOutcome(queue, outcome): ["shop"] * count for outcome, count in Counter(outcomes).items()}
    return AttemptsEnded(clients=clients, timed=timed, committed=committed)


def counters_of(*told: AttemptsEnded) -> Counters:
    found = Counters()
    for one in told:
        found.ended(one)
    return found


def page_of(*counts: Counts) -> Read:
    together = Counts()
    for one in counts:
        together.add(one)
    return read(page(together))


def test_attempts_are_counted_by_queue_and_outcome() -> None:
    counters = counters_of(
        attempts("succeeded", "failed", "failed"), attempts("succeeded", committed=1), attempts("late", queue=1)
    )
    found = page_of(counters.counts({0: "default"}, {}))
    assert found["pgsched_attempts_total", ("default", "succeeded")] == 2
    assert found["pgsched_attempts_total", ("default", "failed")] == 2
    assert found["pgsched_settled_executions_total", ("succeeded",)] == 1  # settled by the handler, not in a batch
    assert found["pgsched_attempts_total", ("1", "late")] == 1  # a queue whose name is not yet known


def test_a_sampled_attempt_is_counted_with_its_weight() -> None:
    found = page_of(counters_of(attempts("succeeded", "snoozed", weight=8)).counts({0: "q"}, {}))
    assert found["pgsched_lateness_seconds_sum", ("q",)] == 16.0
    assert found["pgsched_attempt_duration_seconds_sum", ("q",)] == 8.0
    assert found["pgsched_lateness_seconds_bucket", ("q", "1.0")] == 16
    assert found["pgsched_lateness_seconds_bucket", ("q", "0.5")] == 0
    assert found["pgsched_lateness_seconds_bucket", ("q", "+Inf")] == 16
    assert found["pgsched_lateness_seconds_count", ("q",)] == 16


def test_queue_time_and_worker_wait_are_separate_metrics() -> None:
    told = attempts("succeeded", weight=3, unclaimed=0.9), attempts("succeeded", lateness=0.004, unclaimed=0.0)
    # The last attempt's queue time is unknown.
    found = page_of(counters_of(*told, attempts("succeeded")).counts({0: "q"}, {}))
    assert found["pgsched_queue_time_seconds_bucket", ("q", "0.001")] == 1
    assert found["pgsched_queue_time_seconds_sum", ("q",)] == pytest.approx(2.7)
    assert found["pgsched_worker_wait_seconds_sum", ("q",)] == pytest.approx(0.304)
    assert found["pgsched_worker_wait_seconds_count", ("q",)] == 4
    assert found["pgsched_lateness_seconds_count", ("q",)] == 5


def test_batches_and_events_are_counted() -> None:
    counters = Counters()
    counters.claimed(BatchClaimed(rows=7, statements=3, seconds=0.02, at_once=False))
    counters.settled(BatchSettled(rows=7, outcomes={"succeeded": 5, "retrying": 2}, statements=1, seconds=0.01))
    counters("worker.lost", {})
    found = page_of(counters.counts({}, {"pgsched_worker_in_hand": 3}))
    assert (found["pgsched_claims_total", ()], found["pgsched_claimed_executions_total", ()]) == (1, 7)
    assert found["pgsched_settled_executions_total", ("retrying",)] == 2
    assert found["pgsched_events_total", ("worker.lost",)] == 1
    assert found["pgsched_events_total", ("worker.declared_lost",)] == 0  # so that the first event is an increase
    assert found["pgsched_worker_in_hand", ()] == 3


def test_duration_counters_start_at_zero() -> None:
    found = page_of(Counters().counts({}, {}))
    assert found["pgsched_claim_duration_seconds_count", ()] == found["pgsched_settle_duration_seconds_count", ()] == 0


def test_each_queue_has_its_own_histograms() -> None:
    counters = counters_of(attempts("succeeded"), attempts("succeeded", "succeeded", queue=1, seconds=0.002))
    found = page_of(counters.counts({0: "q", 1: "r"}, {}))
    assert found["pgsched_attempt_duration_seconds_count", ("q",)] == 1
    assert found["pgsched_attempt_duration_seconds_sum", ("r",)] == pytest.approx(0.004)


def test_counters_outlive_their_process_but_gauges_do_not(tmp_path: Path) -> None:
    gauges = {"pgsched_worker_in_hand": 3.0}
    writing = Writing(
        Events(),
        Counting(counters_of(attempts("succeeded")), tmp_path),
        queue_names=lambda: {0: "q"},
        gauges=lambda: gauges,
    )
    reading = Reading(tmp_path)
    writing.write()
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    (tmp_path / str(ended.pid)).write_bytes((tmp_path / str(os.getpid())).read_bytes())
    for _ in range(3):
        found = read(page(reading.read()))
        assert found["pgsched_attempts_total", ("q", "succeeded")] == 2
        assert found["pgsched_worker_in_hand", ()] == 3
        assert found["pgsched_worker_processes", ()] == 1
    assert [file.name for file in tmp_path.iterdir()] == [str(os.getpid())]


def test_each_process_has_its_own_gauges_and_frees_its_number_on_exit(tmp_path: Path) -> None:
    def writing(room: int) -> None:
        gauges = {"pgsched_worker_room": float(room), "pgsched_worker_running": 1.0}
        Writing(Events(), Counting(Counters(), tmp_path), queue_names=dict, gauges=lambda: gauges).write()

    def rooms() -> dict[str, float]:
        found = read(page(reading.read()))
        return {labels[0]: room for (name, labels), room in found.items() if name == "pgsched_worker_room"}

    reading, mine = Reading(tmp_path), tmp_path / str(os.getpid())
    writing(7)
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        mine.rename(tmp_path / str(other.pid))
        assert rooms() == {"1": 7}
        writing(9)
        assert rooms() == {"1": 7, "2": 9}
        assert read(page(reading.read()))["pgsched_worker_running", ()] == 2
        other.kill()
    assert rooms() == {"2": 9}
    mine.rename(tmp_path / str(os.getppid()))
    writing(5)
    assert rooms() == {"1": 5, "2": 9} or rooms() == {"1": 9, "2": 5}


def test_a_process_that_stopped_writing_is_not_counted_as_running(tmp_path: Path) -> None:
    Writing(Events(), Counting(Counters(), tmp_path), queue_names=dict, gauges=dict).write()
    os.utime(tmp_path / str(os.getpid()), (0, 0))
    assert read(page(Reading(tmp_path).read()))["pgsched_worker_processes", ()] == 0


@pytest.mark.parametrize("content", [b"", b"\xc1", b"[]"])
def test_an_unreadable_metrics_file_is_skipped(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "1").write_bytes(content)
    (tmp_path / f"{os.getpid()}.new").write_bytes(b"half")
    Writing(Events(), Counting(counters_of(attempts("succeeded")), tmp_path), queue_names=dict, gauges=dict).write()
    assert read(page(Reading(tmp_path).read()))["pgsched_attempts_total", ("0", "succeeded")] == 1


def test_queue_names_cannot_inject_metric_lines() -> None:
    name = 'a"} 1\npgsched_claims_total 99\n'
    found = page_of(counters_of(attempts("succeeded")).counts({0: name}, {}))
    assert found["pgsched_attempts_total", (name, "succeeded")] == 1
    assert found["pgsched_claims_total", ()] == 0


def test_histograms_of_several_processes_are_summed() -> None:
    one, other = Counts(), Counts()
    one.observe(0.002, "pgsched_claim_duration_seconds")
    other.observe(10_000.0, "pgsched_claim_duration_seconds")
    found = page_of(one, other)
    assert found["pgsched_claim_duration_seconds_bucket", ("0.0025",)] == 1
    assert found["pgsched_claim_duration_seconds_bucket", ("3600.0",)] == 1
    assert found["pgsched_claim_duration_seconds_bucket", ("+Inf",)] == 2
    assert found["pgsched_claim_duration_seconds_sum", ()] == 10_000.002


def test_metric_names_follow_prometheus_conventions() -> None:
    for name, metric in catalogue.ALL.items():
        assert name.startswith("pgsched_")
        assert not name.endswith(("_total", "_count", "_sum", "_bucket"))
        assert metric.kind != "histogram" or name.endswith("_seconds")
        assert metric.text.endswith(".")
        bounded = {"client"} if name.startswith("pgsched_objective_") else set()
        assert not set(metric.labels) & {"client", "key", "host", "target", "execution"} - bounded
