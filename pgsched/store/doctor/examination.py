"""Runs all checks one after another, each in its own transaction and with a time limit.

A check that fails, takes too long or lacks privileges is reported as a finding, and the next check still runs.
"""

import asyncio
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import psycopg

from pgsched.errors import PgschedError, Unavailable
from pgsched.password_hiding import without_passwords
from pgsched.sealing import KeyRing
from pgsched.store.core.new_connection import Lend
from pgsched.store.core.query import column, first
from pgsched.store.core.session_settings import DOCTOR_LOCALLY
from pgsched.store.doctor import database_connection, fleet, long_transactions, schema, server_resources, work
from pgsched.store.doctor.finding import (
    BOUNDS,
    Bounds,
    Check,
    CheckContext,
    Finding,
    Report,
    Status,
    error,
    warning,
)
from pgsched.telemetry import printable
from pgsched.version import __version__

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
    "horizon": long_transactions.horizon,
    "lock waits": long_transactions.lock_waits,
    "slow statements": long_transactions.slow_statements,
    "write-ahead log": server_resources.write_ahead_log,
    "connections": server_resources.connections,
    "notifications": server_resources.notifications,
    "wraparound": server_resources.wraparound,
    "autovacuum": server_resources.autovacuum,
    "dead rows": server_resources.dead_rows,
    "pooler": database_connection.pooler,
    "round trip": database_connection.round_trip,
    "clock": database_connection.clock,
}
"""All checks, by the names that findings carry, in the order in which they run."""
_WITHOUT_THE_SCHEMA = {
    "settings", "schema", "horizon", "lock waits", "slow statements", "write-ahead log", "connections", "notifications",
    "wraparound", "pooler", "round trip", "clock",
}  # fmt: skip
"""Checks that do not need pgsched's schema. If the schema is missing, only these run, and the check "schema" reports
that it is missing.
"""
_EACH, _ALL = 8.0, 25.0  # seconds for one check and for all of them
_CANCELLING = 0.5  # seconds within which a running server cancels a statement
_WORST_FIRST = ("error", "warning", "note")
_STATUS: dict[str, Status] = {"error": "error", "warning": "warning", "note": "fine"}


async def make(
    lend: Lend,
    name: str,
    check: Check,
    *,
    url: str | None = None,
    ring: KeyRing | None = None,
    bounds: Bounds = BOUNDS,
) -> list[Finding]:
    """Runs one check on a connection lent to it."""
    try:
        async with asyncio.timeout(_EACH + _CANCELLING), asyncio.timeout(_EACH), lend() as connection:
            found = await _look(check, CheckContext(connection=connection, url=url, ring=ring, bounds=bounds))
    except TimeoutError:
        found = [_unmade(f"the check took longer than {_EACH:g} seconds")]
    except Exception as failure:  # whatever is wrong with one check, the others still run
        found = [_unmade(_said(failure))]
    return [_plain(one, name) for one in found]


async def _look(check: Check, ground: CheckContext) -> list[Finding]:
    try:
        async with ground.connection.transaction():
            await ground.connection.execute(DOCTOR_LOCALLY)
            return list(await check(ground))
    except psycopg.errors.InsufficientPrivilege as refused:
        return [_unmade(f"the login {ground.connection.info.user} lacks privileges: {_said(refused)}")]


async def examine(
    lend: Lend, *, url: str | None = None, ring: KeyRing | None = None, checks: Mapping[str, Check] = CHECKS
) -> Report:
    """Runs the checks. Never raises because of the database: if the database cannot be reached, that is the finding."""
    try:
        version, is_there, revision = await _told(lend)
    except (psycopg.Error, PgschedError, OSError, TimeoutError) as failure:
        return _report([_away(failure)], [])
    until = time.monotonic() + _ALL
    made: list[str] = []
    findings: list[Finding] = []
    for name, check in checks.items():
        if not is_there and name not in _WITHOUT_THE_SCHEMA:
            continue
        if time.monotonic() > until:
            findings.append(_plain(_unmade(f"the earlier checks took longer than {_ALL:g} seconds"), name))
            continue
        findings += await make(lend, name, check, url=url, ring=ring)
        made.append(name)
    return _report(findings, made, version=version, revision=revision)


async def _told(lend: Lend) -> tuple[str, bool, str | None]:
    """Returns the server's version, whether pgsched is in the database, and, if this login may read it, the schema's
    revision.
    """
    async with (
        asyncio.timeout(_EACH + _CANCELLING),
        asyncio.timeout(_EACH),
        lend() as connection,
        connection.transaction(),
    ):
        version, is_there, is_shown = await first(connection, "doctor/server") or ("", False, False)
        found = await column(connection, "admin/revisions") if is_shown else []
        return str(version), bool(is_there), ", ".join(found) or None


def _report(
    findings: list[Finding], checks: list[str], *, version: str | None = None, revision: str | None = None
) -> Report:
    ordered = sorted(findings, key=lambda finding: _WORST_FIRST.index(finding.severity))
    status = _STATUS[ordered[0].severity] if ordered else "fine"
    known: dict[str, Any] = {"release": __version__, "server": version, "revision": revision}
    return Report(status=status, checks=checks, findings=ordered, **known)


def _said(failure: Exception) -> str:
    """Returns the main line of an error, without the further lines that the server adds."""
    primary = failure.diag.message_primary if isinstance(failure, psycopg.Error) else None
    return primary or " ".join(str(failure).split())[:300] or type(failure).__name__


def _unmade(reason: str) -> Finding:
    return warning(
        f"this could not be checked: {reason}",
        why="There may be a problem that this report does not show.",
        do="Run the doctor as a login with more privileges, such as a member of pgsched_reader and pg_monitor, or "
        "when the server is less busy.",
    )


def _plain(finding: Finding, check: str) -> Finding:
    """Returns a check's finding as plain text without passwords. The names in a finding may come from anyone."""
    seen, why, do = (printable(without_passwords(text)) for text in (finding.seen, finding.why, finding.do))
    return replace(finding, check=check, seen=seen, why=why, do=do)


def _away(failure: Exception) -> Finding:
    said = " ".join(str(failure).split())[:500] or "it did not respond in time"
    found = error(
        said if isinstance(failure, Unavailable) else f"the database cannot be reached: {said}",
        why="Nothing is scheduled or delivered until it is back; executions that become due in the meantime are "
        "delivered then.",
        do="Make sure that the server is running, admits this login, and has the address in database_url.",
    )
    return _plain(found, "database")
