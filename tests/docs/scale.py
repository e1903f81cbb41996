"""How large an installation must be: the cost of one execution, multiplied.

The costs are those of statements over hundreds of rows, as a busy installation sends them; a quiet one pays more per
row but has few. Everything is linear in the rate: the result is where to start measuring, and does not replace it.
"""

from dataclasses import dataclass
from math import ceil
from typing import Literal

QUEUE = 16  # partitions, and so the number of worker processes that have their own
_FEWEST_PROCESSES = 2  # one may die
_DAY = 86_400


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """The cost of one execution in microseconds of CPU, bytes and statements.

    For the server: scheduling it in a batch, alone or as the next run of a job; claiming it; and settling it. For a
    worker: ``handler_us`` with a Python handler that does nothing, ``callback_us`` with an HTTP callback.
    """

    schedule_batch_us: float
    schedule_single_us: float
    plan_us: float
    claim_us: float
    settle_us: float
    handler_us: float
    callback_us: float
    statements: float
    wal_bytes: float
    history_bytes: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Machines:
    """The machines available. ``utilisation`` (0 to 1) is the intended load of a core; ``server_wal_mb`` is how many MB
    of write-ahead log a second the disk of a database server can sustain."""

    utilisation: float
    server_cores: int
    server_wal_mb: float
    worker_cores: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """Executions a second: ``mean`` over a day and ``peak`` times that at the busiest, how they are scheduled, and what
    delivers them."""

    mean: float
    peak: float
    scheduled: Literal["in batches", "one by one", "recurring"]
    delivered: Literal["handlers", "callbacks"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Installation:
    """What a load needs at its peak; the history depends on the mean."""

    rate: float
    server_cores: float
    statements: float
    wal_mb: float
    worker_processes: int
    partitions: int
    history_gb_a_day: float
    servers: int
    worker_machines: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The rates, in executions a second, at which one server and one queue are exhausted."""

    server_cores: float
    server_wal: float
    worker_process: float
    queue: float


def installation(load: Load, costs: Costs, machines: Machines) -> Installation:
    """Returns what the load needs. Adds databases (sharded by client) if one server is not enough."""
    rate = load.mean * load.peak
    cores = rate * _server_us(load, costs) / 1e6 / machines.utilisation
    wal = rate * costs.wal_bytes / 1e6
    servers = ceil(max(cores / machines.server_cores, wal / machines.server_wal_mb))
    processes = max(ceil(rate / _process_rate(load, costs, machines)), _FEWEST_PROCESSES * servers)
    return Installation(
        rate=rate,
        server_cores=cores,
        statements=rate * (costs.statements + (load.scheduled == "one by one")),
        wal_mb=wal,
        worker_processes=processes,
        partitions=QUEUE * servers * ceil(processes / servers / QUEUE),
        history_gb_a_day=load.mean * costs.history_bytes * _DAY / 1e9,
        servers=servers,
        worker_machines=ceil(processes / machines.worker_cores),
    )


def limits(load: Load, costs: Costs, machines: Machines) -> Limits:
    """Returns the limits for executions of this kind; the rate of the load does not matter."""
    process = _process_rate(load, costs, machines)
    return Limits(
        server_cores=machines.server_cores * machines.utilisation / _server_us(load, costs) * 1e6,
        server_wal=machines.server_wal_mb * 1e6 / costs.wal_bytes,
        worker_process=process,
        queue=QUEUE * process,
    )


def _server_us(load: Load, costs: Costs) -> float:
    """A recurring execution is scheduled by the claim of its predecessor."""
    scheduled = {
        "in batches": costs.schedule_batch_us,
        "one by one": costs.schedule_single_us,
        "recurring": costs.plan_us,
    }
    return scheduled[load.scheduled] + costs.claim_us + costs.settle_us


def _process_rate(load: Load, costs: Costs, machines: Machines) -> float:
    spent = costs.handler_us if load.delivered == "handlers" else costs.callback_us
    return machines.utilisation / spent * 1e6
