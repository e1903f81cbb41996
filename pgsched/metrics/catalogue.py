"""All metrics, by name: what they are and what their labels say. No label has more values than there are queues, but
for ``client``, the hundred of ``throughput.objectives``, and ``process``, as many as a command has at a time.

Names and units are Prometheus's: https://prometheus.io/docs/practices/naming/. A counter's name ends in ``_total``
where it is shown.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric."""

    kind: Literal["counter", "gauge", "histogram"]
    labels: tuple[str, ...]
    text: str


OF_WORKERS: Mapping[str, Metric] = {
    "pgsched_attempts": Metric("counter", ("queue", "outcome"), "Attempts that have ended, by how."),
    "pgsched_lateness_seconds": Metric("histogram", ("queue",), "From when an attempt was due until it began."),
    "pgsched_queue_time_seconds": Metric(
        "histogram", ("queue",), "From when an attempt was due until a worker had claimed it; 0 if it did so ahead."
    ),
    "pgsched_worker_wait_seconds": Metric(
        "histogram", ("queue",), "From when an attempt was both due and claimed until it began."
    ),
    "pgsched_attempt_duration_seconds": Metric("histogram", ("queue",), "How long attempts took."),
    "pgsched_claims": Metric("counter", (), "Claims that were answered."),
    "pgsched_claimed_executions": Metric("counter", (), "Executions that claims have brought."),
    "pgsched_claim_duration_seconds": Metric("histogram", (), "How long claims took."),
    "pgsched_settled_executions": Metric(
        "counter", ("status",), "Executions whose outcome is on record, by what followed."
    ),
    "pgsched_settle_duration_seconds": Metric("histogram", (), "How long it took to record a batch of outcomes."),
    "pgsched_events": Metric("counter", ("event",), "Events, by the name that they have in the log."),
    "pgsched_worker_in_hand": Metric("gauge", (), "Executions that worker processes have claimed and not settled."),
    "pgsched_worker_capacity": Metric("gauge", (), "Executions that they would have in hand at the most, just now."),
    "pgsched_worker_running": Metric("gauge", (), "Attempts under way."),
    "pgsched_worker_room": Metric(
        "gauge", ("process",), "How many more executions a worker process could take in hand."
    ),
    "pgsched_worker_processes": Metric("gauge", (), "Processes of this command that have counted within a minute."),
}
OF_THE_API: Mapping[str, Metric] = {
    "pgsched_api_requests": Metric("counter", ("method", "route", "status"), "Requests that were answered."),
    "pgsched_api_request_duration_seconds": Metric("histogram", ("route",), "Until the head of the answer was sent."),
}
OF_THE_DATABASE: Mapping[str, Metric] = {
    "pgsched_database_up": Metric("gauge", (), "1 if the database told all that follows, 0 if it could not be asked."),
    "pgsched_due": Metric("gauge", ("queue",), "Executions that are due and in nobody's hand, up to 4,000 a queue."),
    "pgsched_oldest_due_seconds": Metric("gauge", ("queue",), "How late the latest of these is; 0 where none is."),
    "pgsched_leased": Metric("gauge", ("queue",), "Executions that workers have in hand, up to 4,000 a queue."),
    "pgsched_scheduled": Metric(
        "counter", ("queue",), "Executions that were scheduled, since the server's statistics began."
    ),
    "pgsched_ended": Metric("counter", ("queue",), "Executions that have ended, since the server's statistics began."),
    "pgsched_queue_workers": Metric("gauge", ("queue",), "Living worker processes that serve the queue."),
    "pgsched_queue_paused": Metric("gauge", ("queue",), "1 where the queue is paused, so that nothing begins in it."),
    "pgsched_held": Metric("gauge", ("by",), "Executions that a gate holds, up to 1,000 a gate, by its kind."),
    "pgsched_sidelined_targets": Metric("gauge", (), "Target hosts that are left alone because they fail, up to 20."),
    "pgsched_dead_letters": Metric("gauge", (), "Dead letters that nobody has dealt with, of the newest 10,000."),
    "pgsched_new_dead_letters": Metric("gauge", (), "Executions that have failed for good within 15 minutes."),
    "pgsched_workers": Metric("gauge", (), "Living worker processes."),
    "pgsched_dead_rows": Metric("gauge", ("table",), "Dead rows of the tables through which executions go."),
    "pgsched_wal_bytes": Metric("counter", (), "Bytes that the server has written to its log ahead of its tables."),
    "pgsched_objective_attempts": Metric(
        "counter", ("client",), "Attempts that have begun, of the first hundred clients that have an objective."
    ),
    "pgsched_objective_late_attempts": Metric(
        "counter", ("client",), "Those that began later than the objective says."
    ),
    "pgsched_objective_on_time_share": Metric(
        "gauge", ("client",), "Which part of the attempts shall begin on time, by the objective."
    ),
    "pgsched_finding": Metric(
        "gauge", ("check",), "What each check of pgsched doctor finds: 0 nothing, 1 a warning, 2 an error."
    ),
}
ALL = {**OF_WORKERS, **OF_THE_API, **OF_THE_DATABASE}
