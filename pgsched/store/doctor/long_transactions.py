"""Finds sessions that hold resources for too long: old snapshots, prepared transactions, locks, slow statements."""

from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

from psycopg import AsyncConnection

from pgsched.store.core.query import column, rows, value
from pgsched.store.doctor.finding import (
    CheckContext,
    Finding,
    counted,
    error,
    identifier,
    literal,
    note,
    seconds_in,
    warning,
)

_CLEANS = (
    "Until it ends, the server cannot clean up dead rows in this database, so tables grow and claims become slower."
)
_EVENTS = (
    "Once it has been open for a day, readers of events may miss what it writes; with a thousand such transactions, "
    "events are delayed."
)
_FREEZES = (
    "Until it ends, the server cannot freeze older rows; two billion transactions later, the server accepts no writes."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """The holder of an old snapshot, or of a transaction that has written. ``seconds`` is its age; a lower bound if
    this login cannot see when the transaction began, and None if no bound is known.
    """

    kind: str
    name: str
    pid: int | None
    owner: str | None
    database: str | None
    seconds: float | None
    transactions: int | None
    writes: bool
    at_least: bool = False


async def holders(connection: AsyncConnection[Any], *, most: int) -> list[Holder]:
    """Returns the holders of the oldest snapshots and transactions of every database, oldest first."""
    found = await rows(connection, Holder, "doctor/horizons", most=most)
    hidden = [one for one in found if _is_hidden(one)]
    if not hidden or not await value(connection, "doctor/may_tell_ages"):
        return found
    since = iter(await column(connection, "doctor/transaction_ages", transactions=[one.transactions for one in hidden]))
    return [_open_since(one, next(since)) if _is_hidden(one) else one for one in found]


def _is_hidden(one: Holder) -> bool:
    """Whether this login cannot see when the transaction began."""
    return one.seconds is None and one.kind in ("session", "standby")


def _open_since(one: Holder, seconds: float | None) -> Holder:
    return replace(one, seconds=seconds, at_least=seconds is not None)


async def horizon(ground: CheckContext) -> list[Finding]:
    """Finds everything that keeps the server from cleaning up: sessions, prepared transactions, standbys and slots,
    including those of other databases.
    """
    here = ground.connection.info.dbname
    found = await holders(ground.connection, most=ground.bounds.most)
    held = [_held(one, here) for one in found if _is_long(one, ground, here)]
    hidden = [
        one
        for one in found
        if one.kind == "session" and (one.seconds is None or one.at_least) and not _is_long(one, ground, here)
    ]
    return [*held, _unseen(len(hidden), ground)] if hidden else held


def _unseen(sessions: int, ground: CheckContext) -> Finding:
    login = ground.connection.info.user
    return note(
        f"{counted(sessions, 'session')} of other logins {'has' if sessions == 1 else 'have'} a transaction open; "
        f"{login} lacks the privilege to see since when",
        why="A transaction that stays open can keep the server from cleaning up dead rows, which makes claims slower.",
        do=f"To make this visible to the login, grant pg_monitor to {identifier(login)}.",
    )


def _is_long(one: Holder, ground: CheckContext, here: str) -> bool:
    """Whether a holder is a problem. In another database, a holder is a problem only if it has written or is very
    old."""
    bounds = ground.bounds
    if one.kind == "prepared transaction" and (one.seconds or 0.0) >= bounds.prepared:
        return True
    if (one.transactions or 0) >= bounds.transactions:
        return True
    if one.database in (here, None):
        return (one.seconds or 0.0) >= bounds.open_for
    return one.writes and (one.seconds or 0.0) >= bounds.open_elsewhere


def _held(one: Holder, here: str) -> Finding:
    least = "at least " if one.at_least else ""
    since = f"for {least}{seconds_in(one.seconds)}" if one.seconds is not None else "for a long time"
    age = f", {one.transactions:,} transactions" if one.transactions else ""
    where = "" if one.database in (here, None) else f" in the database {one.database}"
    why = _CLEANS if one.database in (here, None) else _EVENTS if one.writes else _FREEZES
    ways: dict[str, tuple[str, str]] = {
        "session": (
            f"the session {one.pid} of {one.owner} ({one.name}){where} has had a transaction open {since}{age}",
            f"End it with select pg_terminate_backend({one.pid}), unless it is intended, and set "
            "idle_in_transaction_session_timeout.",
        ),
        "standby": (
            f"a standby ({one.name}) has held a snapshot {since}{age}",
            "End the long query on the standby, or turn hot_standby_feedback off there.",
        ),
        "prepared transaction": (
            f"the transaction {one.name!r} of {one.owner}{where} was left prepared {since}{age}",
            f"Run rollback prepared {literal(one.name)} in the database {one.database}, unless it will be committed; "
            "until then, everything that needs its locks has to wait.",
        ),
        "replication slot": (
            f"the replication slot {one.name} holds a snapshot{age}",
            f"Let its consumer continue, or drop it with select pg_drop_replication_slot({literal(one.name)}).",
        ),
    }
    seen, do = ways[one.kind]
    return warning(seen, why=why, do=do)


async def lock_waits(ground: CheckContext) -> list[Finding]:
    """Finds sessions of the database that have waited several seconds for a lock, and sessions that block writers."""
    bounds = ground.bounds
    given = {"seconds": bounds.waits_for_lock, "most": bounds.most}
    holders = await ground.rows("doctor/lock_holders", **given)
    found = await ground.rows("doctor/lock_waits", **given)
    return [_locked(one, ground) for one in holders] + [
        warning(
            f"the session {one.pid} ({one.name}) has been waiting {seconds_in(one.seconds)} for a lock ({one.mode} on "
            f"{one.thing}) that {_named(one.blockers)} holds",
            why="While it waits for a table lock, all other sessions that need that table wait, too.",
            do=_end(one.blockers),
        )
        for one in found
    ]


def _locked(one: SimpleNamespace, ground: CheckContext) -> Finding:
    if one.seconds is None:
        login = ground.connection.info.user
        return note(
            f"the session {one.pid} ({one.name}) has {one.thing} locked ({one.mode}); {login} lacks the privilege to "
            "see since when",
            why="While the session keeps the lock, nothing can be written there.",
            do="Check again whether it still has the lock. To make this visible to the login, grant pg_monitor to "
            f"{identifier(login)}.",
        )
    return error(
        f"the session {one.pid} ({one.name}) has had {one.thing} locked ({one.mode}) for {seconds_in(one.seconds)}",
        why="Nothing can be written there until it releases the lock; workers give up after a moment and try again.",
        do=_end([one.pid]),
    )


def _named(pids: list[int]) -> str:
    if not pids:
        return "another session"
    return f"the session {pids[0]}" if pids[0] else "a prepared transaction"


def _end(pids: list[int]) -> str:
    if not pids:
        return "Check again, because the session that held it has just ended."
    if not pids[0]:
        return "Find its gid (select gid, owner from pg_prepared_xacts), and run rollback prepared with it."
    return f"Check what that session is doing, and end it if necessary: select pg_terminate_backend({pids[0]})."


async def slow_statements(ground: CheckContext) -> list[Finding]:
    """Finds statements of pgsched that have been running for long or, according to pg_stat_statements, are slow on
    average.
    """
    bounds = ground.bounds
    now = await ground.rows("doctor/slow_statements", seconds=bounds.statement, most=bounds.most)
    found = [
        warning(
            f"a statement of {one.name} (session {one.pid}) has been running for {seconds_in(one.seconds)}: "
            f"{_line(one.query)}",
            why="Workers' statements take milliseconds, unless the server is short of CPU or disk bandwidth, or "
            "has chosen a bad plan.",
            do="Check the server's load, then refresh the tables' statistics: analyze pgsched.executions, "
            "pgsched.history.",
        )
        for one in now
        if not one.waits
    ]
    return found + await _slow_on_the_average(ground)


async def _slow_on_the_average(ground: CheckContext) -> list[Finding]:
    if await value(ground.connection, "doctor/find_statistics") is None:
        return []
    bounds = ground.bounds
    found = await ground.rows("doctor/statistics_of_statements", seconds=bounds.mean, most=bounds.most)
    return [
        note(
            f"a statement took {seconds_in(one.seconds)} on average over {one.calls:,} calls: {_line(one.query)}",
            why="pgsched's statements take milliseconds; listings over many rows may take longer.",
            do="Check its plan, and whether it was slow only in the past: select pg_stat_statements_reset(), and look "
            "again later.",
        )
        for one in found
    ]


def _line(query: str | None) -> str:
    return " ".join((query or "this login lacks the privilege to see the statement").split())
