"""What the server has only so much of, and how it cleans up."""

from types import SimpleNamespace

from pgsched.store.core.query import value
from pgsched.store.doctor.finding import CheckContext, Finding, error, seconds_in, warning

_FULL = 0.5  # of the queue of notifications: from here on it may be full in minutes


async def write_ahead_log(ground: CheckContext) -> list[Finding]:
    """What has the server keep its write-ahead log, until the disk is full: slots, and an archive that fails."""
    bounds = ground.bounds
    slots = await ground.rows("doctor/retained_log", most=bounds.most)
    found = [_retained(one) for one in slots if one.lost or (one.bytes or 0) >= bounds.retained]
    failing = await ground.rows("doctor/archiving")
    return found + [
        warning(
            f"the file {one.name} of the write-ahead log was not archived {seconds_in(one.seconds)} ago, and none was "
            "since",
            why="The server keeps all of the log until it is archived; when the disk is full, it stops.",
            do="See the server's log for what archive_command says.",
        )
        for one in failing
    ]


def _retained(one: SimpleNamespace) -> Finding:
    if one.lost:
        return warning(
            f"the replication slot {one.name} has lost the log that it needs",
            why="Its consumer can never go on from where it was.",
            do=f"Drop it by select pg_drop_replication_slot('{one.name}'), and set its consumer up anew.",
        )
    is_used = "it has a consumer, which is behind" if one.active else "nobody uses it"
    return warning(
        f"the server keeps {(one.bytes or 0) >> 20:,} MiB of write-ahead log for the replication slot {one.name}; "
        f"{is_used}",
        why="When the disk is full, the server stops.",
        do=f"Have its consumer go on, or select pg_drop_replication_slot('{one.name}'); and set "
        "max_slot_wal_keep_size.",
    )


async def connections(ground: CheckContext) -> list[Finding]:
    """How many connections are left of the server's, the database's and the logins' bounds."""
    bounds = ground.bounds
    found = await ground.rows("doctor/connections", share=bounds.of_connections, most=bounds.most)
    ways = {
        "server": "Raise max_connections, or bound other logins: alter role … connection limit.",
        "database": "Give it more: alter database … connection limit.",
        "login": "Give it more: alter role … connection limit.",
    }
    return [
        (error if one.used >= one.most else warning)(
            f"{one.used} of the {one.most} connections are used that the "
            f"{one.what}{f' {one.name}' if one.name else ''} has",
            why="A worker process that needs another one waits; it holds about ten, and a process of the API ten.",
            do=ways[one.what],
        )
        for one in found
    ]


async def notifications(ground: CheckContext) -> list[Finding]:
    """How full the server's queue of notifications is, which all of its databases share."""
    used = float(await value(ground.connection, "doctor/notification_queue"))
    if used < ground.bounds.of_notifications:
        return []
    return [
        (error if used >= _FULL else warning)(
            f"{used:.1%} of the server's queue of notifications is used",
            why="Where it is full, no transaction that notifies can commit; workers leave notifications out from the "
            "half on.",
            do="Find who listens and has a transaction open for long: select pid, query from pg_stat_activity where "
            "state = 'idle in transaction' order by xact_start; and end it.",
        )
    ]


async def wraparound(ground: CheckContext) -> list[Finding]:
    """Databases of the server that come near to where it takes no more writes, and our sequences to their end."""
    bounds = ground.bounds
    found = await ground.rows("doctor/wraparound", share=bounds.of_wraparound, most=bounds.most)
    used_up = await ground.rows("doctor/used_up", share=bounds.of_wraparound)
    return [_used_up(one) for one in used_up] + [
        (error if one.age > 1_600_000_000 else warning)(
            f"the oldest transaction of the database {one.name} that is not frozen is {one.age:,} transactions old",
            why="At two billion the server takes no more writes, in any of its databases.",
            do="Run vacuum freeze in that database, and find what keeps autovacuum from it: see the checks horizon "
            "and autovacuum.",
        )
        for one in found
    ]


def _used_up(one: SimpleNamespace) -> Finding:
    return (error if one.last >= one.most else warning)(
        f"the sequence {one.name} has given out {one.last:,} of {one.most:,} numbers",
        why="Whoever needs the next one after the last gets an error: of workers' numbers, a worker that starts.",
        do=f"If it was set by mistake: alter sequence {one.name} restart with N, behind which its table has no number "
        "for long; or, where the first numbers are long free, without the N.",
    )


async def autovacuum(ground: CheckContext) -> list[Finding]:
    """Settings of the server and of tables by which nothing would clean up behind claims and settles."""
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
            why="Each claim and each end leaves a dead row; where nothing cleans up, the table grows and claims "
            "become slower.",
            do=ways[one.kind][1].format(name=one.name),
        )
        for one in found
    ]


async def dead_rows(ground: CheckContext) -> list[Finding]:
    """Tables of pgsched that are mostly dead rows."""
    bounds = ground.bounds
    found = await ground.rows("doctor/dead_rows", bound=bounds.dead_rows, most=bounds.most)
    return [
        warning(
            f"{one.name} has {one.dead:,} dead rows beside {one.live:,} others, and "
            + (f"was cleaned up {seconds_in(one.seconds)} ago" if one.seconds is not None else "was never cleaned up"),
            why="Claims read past dead rows, and become slower.",
            do=f"See the check horizon for who keeps them there; otherwise vacuum {one.name}, and raise "
            "autovacuum_max_workers.",
        )
        for one in found
    ]
