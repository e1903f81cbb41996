"""All metrics by name, with their labels and help texts.

No label has more values than there are queues, except ``client`` (the first hundred clients of
``throughput.objectives``) and ``process`` (the processes of a command).

Names and units follow https://prometheus.io/docs/practices/naming/. On the metrics page, the name of a counter ends in
``_total``.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Metric:
    kind: Literal["counter", "gauge", "histogram"]
    labels: tuple[str, ...]
    text: str


OF_WORKERS: Mapping[str, Metric] = {
    "pgsched_attempts": Metric("counter", ("queue", "outcome"), "Attempts that have ended, by outcome."),
    "pgsched_lateness_seconds": Metric("histogram", ("queue",), "Time from when an attempt was due until it started."),
    "pgsched_queue_time_seconds": Metric(
        "histogram", ("queue",), "Time from when an attempt was due until it was claimed; 0 if it was claimed earlier."
    ),
    "pgsched_worker_wait_seconds": Metric(
        "histogram", ("queue",), "Time from when an attempt was both due and claimed until it started."
    ),
    "pgsched_attempt_duration_seconds": Metric("histogram", ("queue",), "Duration of attempts."),
    "pgsched_claims": Metric("counter", (), "Claims that were answered."),
    "pgsched_claimed_executions": Metric("counter", (), "Executions that were claimed."),
    "pgsched_claim_duration_seconds": Metric("histogram", (), "Duration of claims."),
    "pgsched_settled_executions": Metric(
        "counter", ("status",), "Executions that were settled, by their resulting status."
    ),
    "pgsched_settle_duration_seconds": Metric("histogram", (), "Time taken to settle a batch of outcomes."),
    "pgsched_events": Metric("counter", ("event",), "Events, by their name in the log."),
    "pgsched_worker_in_hand": Metric("gauge", (), "Executions that worker processes have claimed but not settled."),
    "pgsched_worker_capacity": Metric(
        "gauge", (), "Maximum number of executions that worker processes can currently hold."
    ),
    "pgsched_worker_running": Metric("gauge", (), "Attempts that are running."),
    "pgsched_worker_room": Metric("gauge", ("process",), "Further executions that a worker process could claim."),
    "pgsched_worker_processes": Metric(
        "gauge", (), "Processes of this command that were active within the last minute."
    ),
}
OF_THE_API: Mapping[str, Metric] = {
    "pgsched_api_requests": Metric("counter", ("method", "route", "status"), "Requests that were answered."),
    "pgsched_api_request_duration_seconds": Metric("histogram", ("route",), "Time until the response head was sent."),
}
OF_THE_DATABASE: Mapping[str, Metric] = {
    "pgsched_database_up": Metric("gauge", (), "1 if the database metrics could be read, 0 if not."),
    "pgsched_due": Metric("gauge", ("queue",), "Executions that are due but not claimed, up to 4,000 per queue."),
    "pgsched_oldest_due_seconds": Metric(
        "gauge", ("queue",), "Lateness of the oldest due but unclaimed execution; 0 if there is none."
    ),
    "pgsched_leased": Metric("gauge", ("queue",), "Executions that workers have claimed, up to 4,000 per queue."),
    "pgsched_scheduled": Metric(
        "counter", ("queue",), "Executions that were scheduled, since the server's statistics began."
    ),
    "pgsched_ended": Metric("counter", ("queue",), "Executions that have ended, since the server's statistics began."),
    "pgsched_queue_workers": Metric("gauge", ("queue",), "Running worker processes that serve the queue."),
    "pgsched_queue_paused": Metric("gauge", ("queue",), "1 if the queue is paused, so that nothing starts from it."),
    "pgsched_held": Metric("gauge", ("by",), "Executions held by gates, by kind of gate, up to 1,000 per gate."),
    "pgsched_sidelined_targets": Metric("gauge", (), "Target hosts that are sidelined, up to 20."),
    "pgsched_dead_letters": Metric("gauge", (), "Open dead letters among the newest 10,000."),
    "pgsched_new_dead_letters": Metric("gauge", (), "Executions that failed for good in the last 15 minutes."),
    "pgsched_workers": Metric("gauge", (), "Running worker processes."),
    "pgsched_dead_rows": Metric("gauge", ("table",), "Dead rows in the tables that executions pass through."),
    "pgsched_wal_bytes": Metric("counter", (), "Bytes of write-ahead log that the server has written."),
    "pgsched_objective_attempts": Metric(
        "counter", ("client",), "Attempts that have started, for the first hundred clients with an objective."
    ),
    "pgsched_objective_late_attempts": Metric(
        "counter", ("client",), "Attempts that started later than the objective allows."
    ),
    "pgsched_objective_on_time_share": Metric(
        "gauge", ("client",), "Share of attempts that must start on time, according to the objective."
    ),
    "pgsched_finding": Metric(
        "gauge", ("check",), "Result of each check of pgsched doctor: 0 no finding, 1 a warning, 2 an error."
    ),
}
ALL = {**OF_WORKERS, **OF_THE_API, **OF_THE_DATABASE}
