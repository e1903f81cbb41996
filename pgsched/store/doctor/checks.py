"""All checks, by the names that findings carry, in the order in which they are made."""

from collections.abc import Mapping

from pgsched.store.doctor import fleet, holding, reachability, schema, server, work
from pgsched.store.doctor.finding import Check

CHECKS: Mapping[str, Check] = {
    "settings": schema.settings,
    "schema": schema.revision,
    "drift": schema.drift,
    "indexes": schema.indexes,
    "roles": schema.roles,
    "locks": schema.room_for_locks,
    "recovery": fleet.recovery,
    "workers": fleet.workers,
    "releases": fleet.releases,
    "queues": fleet.queues,
    "handlers": fleet.handlers,
    "late": work.late,
    "objectives": work.objectives,
    "jobs": work.jobs,
    "changes": work.changes,
    "days": work.days,
    "secrets": work.secrets,
    "horizon": holding.horizon,
    "lock waits": holding.lock_waits,
    "slow statements": holding.slow_statements,
    "write-ahead log": server.write_ahead_log,
    "connections": server.connections,
    "notifications": server.notifications,
    "wraparound": server.wraparound,
    "autovacuum": server.autovacuum,
    "dead rows": server.dead_rows,
    "pooler": reachability.pooler,
    "round trip": reachability.round_trip,
    "clock": reachability.clock,
}
OF_THE_SCHEMA = frozenset(
    {
        "drift",
        "indexes",
        "roles",
        "locks",
        "recovery",
        "workers",
        "releases",
        "queues",
        "handlers",
        "late",
        "objectives",
        "jobs",
        "changes",
        "days",
    }
    | {"secrets", "autovacuum", "dead rows"}
)
"""Those that look at what a migration makes: where that is not there, the check of the schema says so."""
