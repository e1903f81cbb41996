"""How large an installation has to be: what one execution costs, multiplied.

The costs are those of statements over hundreds of rows, which is what a busy installation sends; a quiet one pays more
for each row and has few. Everything is linear in the rate: the answer is where to begin measuring, not where to stop.
"""

from dataclasses import dataclass
from math import ceil
from typing import Literal

QUEUE = 16  # partitions, and so worker processes that have one of their own
_FEWEST_PROCESSES = 2  # one may die
_DAY = 86_400


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """What one execution costs: microseconds of CPU, bytes, statements.

    Of the server: scheduling it in a batch or alone or planning it as a recurring one, claiming and settling it. Of a
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
    """What there is to run on. ``utilisation`` (0 to 1) is how busy a core is meant to be, ``server_wal_mb`` how many
    MB of write-ahead log a second the disk of a database server takes for good."""

    utilisation: float
    server_cores: int
    server_wal_mb: float
    worker_cores: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """Executions a second: ``mean`` over a day, and ``peak`` times that at the busiest. How they are scheduled, and
    what delivers them."""

    mean: float
    peak: float
    scheduled: Literal["in batches", "one by one", "recurring"]
    delivered: Literal["handlers", "callbacks"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Installation:
    """What a load takes: at its peak, but for history, of which there is as much as the mean makes."""

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
    """The rates, in executions a second, at which one server and one queue have no more to give."""

    server_cores: float
    server_wal: float
    worker_process: float
    queue: float


def installation(load: Load, costs: Costs, machines: Machines) -> Installation:
    """How much of everything, with databases added (sharded by client) where one server is not enough."""
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
    """Where executions of this kind stop; the rate of the load does not count."""
    process = _process_rate(load, costs, machines)
    return Limits(
        server_cores=machines.server_cores * machines.utilisation / _server_us(load, costs) * 1e6,
        server_wal=machines.server_wal_mb * 1e6 / costs.wal_bytes,
        worker_process=process,
        queue=QUEUE * process,
    )


def _server_us(load: Load, costs: Costs) -> float:
    """A recurring execution is scheduled by the claim of the one before."""
    scheduled = {
        "in batches": costs.schedule_batch_us,
        "one by one": costs.schedule_single_us,
        "recurring": costs.plan_us,
    }
    return scheduled[load.scheduled] + costs.claim_us + costs.settle_us


def _process_rate(load: Load, costs: Costs, machines: Machines) -> float:
    spent = costs.handler_us if load.delivered == "handlers" else costs.callback_us
    return machines.utilisation / spent * 1e6
