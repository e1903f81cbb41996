"""Checks the server's limited resources, and how it cleans up."""

from types import SimpleNamespace

from pgsched.store.core.query import value
from pgsched.store.doctor.finding import CheckContext, Finding, error, seconds_in, warning

_FULL = 0.5  # share of the notification queue in use, above which the queue may overflow within minutes


async def write_ahead_log(ground: CheckContext) -> list[Finding]:
    """Finds slots and archiving failures that make the server keep write-ahead log until the disk is full."""
    bounds = ground.bounds
    slots = await ground.rows("doctor/retained_log", most=bounds.most)
    found = [_retained(one) for one in slots if one.lost or (one.bytes or 0) >= bounds.retained]
    failing = await ground.rows("doctor/archiving")
    return found + [
        warning(
            f"archiving the write-ahead log file {one.name} failed {seconds_in(one.seconds)} ago, and no file has "
            "been archived since",
            why="The server keeps the whole log until it is archived; when the disk is full, the server stops.",
            do="Check the server's log for the output of archive_command.",
        )
        for one in failing
    ]


def _retained(one: SimpleNamespace) -> Finding:
    if one.lost:
        return warning(
            f"the replication slot {one.name} has lost the log that it needs",
            why="Its consumer can never continue from where it stopped.",
            do=f"Drop it with select pg_drop_replication_slot('{one.name}'), and set up its consumer again.",
        )
    is_used = "its consumer is behind" if one.active else "the slot is not in use"
    return warning(
        f"the server keeps {(one.bytes or 0) >> 20:,} MiB of write-ahead log for the replication slot {one.name}; "
        f"{is_used}",
        why="When the disk is full, the server stops.",
        do=f"Let its consumer continue, or drop it with select pg_drop_replication_slot('{one.name}'); set "
        "max_slot_wal_keep_size.",
    )


async def connections(ground: CheckContext) -> list[Finding]:
    """Checks how many connections are left within the limits of the server, the database and the logins."""
    bounds = ground.bounds
    found = await ground.rows("doctor/connections", share=bounds.of_connections, most=bounds.most)
    ways = {
        "server": "Raise max_connections, or limit other logins: alter role … connection limit.",
        "database": "Raise its limit: alter database … connection limit.",
        "login": "Raise its limit: alter role … connection limit.",
    }
    return [
        (error if one.used >= one.most else warning)(
            f"{one.used} of the {one.most} connections of the "
            f"{one.what}{f' {one.name}' if one.name else ''} are in use",
            why="A process that needs another connection has to wait. A worker process holds about ten, and an API "
            "process ten.",
            do=ways[one.what],
        )
        for one in found
    ]


async def notifications(ground: CheckContext) -> list[Finding]:
    """Checks how full the notification queue is. All databases of the server share one queue."""
    used = float(await value(ground.connection, "doctor/notification_queue"))
    if used < ground.bounds.of_notifications:
        return []
    return [
        (error if used >= _FULL else warning)(
            f"{used:.1%} of the server's notification queue is used",
            why="When the queue is full, no transaction that notifies can commit; workers stop sending notifications "
            "once it is half full.",
            do="Find and end listening sessions with a long-open transaction: select pid, query from "
            "pg_stat_activity where state = 'idle in transaction' order by xact_start.",
        )
    ]


async def wraparound(ground: CheckContext) -> list[Finding]:
    """Finds databases of the server that will soon accept no more writes, and sequences of pgsched that are nearly used
    up.
    """
    bounds = ground.bounds
    found = await ground.rows("doctor/wraparound", share=bounds.of_wraparound, most=bounds.most)
    used_up = await ground.rows("doctor/sequences_used_up", share=bounds.of_wraparound)
    return [_used_up(one) for one in used_up] + [
        (error if one.age > 1_600_000_000 else warning)(
            f"the oldest unfrozen transaction of the database {one.name} is {one.age:,} transactions old",
            why="Once it is two billion transactions old, the server accepts no more writes in any of its databases.",
            do="Run vacuum freeze in that database, and find what keeps autovacuum from doing so; see the checks "
            "horizon and autovacuum.",
        )
        for one in found
    ]


def _used_up(one: SimpleNamespace) -> Finding:
    return (error if one.last >= one.most else warning)(
        f"the sequence {one.name} has given out {one.last:,} of {one.most:,} numbers",
        why="Once all are used, whatever needs another number fails; without workers' numbers, no worker can start.",
        do=f"If the sequence was set by mistake, run alter sequence {one.name} restart with N, where N begins a "
        "long range of numbers that are free in its table; leave N out if the first numbers are free.",
    )


async def autovacuum(ground: CheckContext) -> list[Finding]:
    """Finds settings of the server and of tables that prevent cleaning up after claims and settles."""
    found = await ground.rows("doctor/vacuuming", most=ground.bounds.most)
    ways = {
        "setting": ("the server has {name}", "Set it to on in postgresql.conf, and reload: select pg_reload_conf()."),
        "off": ("autovacuum is turned off for {name}", "Turn it on: alter table {name} reset (autovacuum_enabled)."),
        "settings": (
            "{name} has lost its storage settings",
            "Set them again: alter table {name} set (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.01, "
            "autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0).",
        ),
    }
    return [
        warning(
            ways[one.kind][0].format(name=one.name),
            why="Claiming and settling an execution each leave a dead row; if dead rows are not cleaned up, the table "
            "grows and claims become slower.",
            do=ways[one.kind][1].format(name=one.name),
        )
        for one in found
    ]


async def dead_rows(ground: CheckContext) -> list[Finding]:
    """Finds tables of pgsched that are mostly dead rows."""
    bounds = ground.bounds
    found = await ground.rows("doctor/dead_rows", bound=bounds.dead_rows, most=bounds.most)
    return [
        warning(
            f"{one.name} has {one.dead:,} dead rows and {one.live:,} live ones, and "
            + (f"was vacuumed {seconds_in(one.seconds)} ago" if one.seconds is not None else "was never vacuumed"),
            why="Claims have to skip the dead rows, so they become slower.",
            do=f"See the check horizon for what keeps dead rows there; if nothing does, run vacuum {one.name}, and "
            "raise autovacuum_max_workers.",
        )
        for one in found
    ]
