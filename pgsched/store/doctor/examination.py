"""Makes all checks, one after the other, each in a transaction of its own and within a bound of time.

A check that fails, takes too long or may not look is a finding, and the next one is made all the same.
"""

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace

import psycopg

from pgsched.errors import PgschedError, Unavailable
from pgsched.password_hiding import without_passwords
from pgsched.sealing import KeyRing
from pgsched.store.core.query import column, first
from pgsched.store.core.session_settings import DOCTOR_LOCALLY
from pgsched.store.core.transactions import Lend
from pgsched.store.doctor.checks import CHECKS, OF_THE_SCHEMA
from pgsched.store.doctor.finding import (
    BOUNDS,
    Bounds,
    Check,
    Connection,
    Finding,
    Ground,
    Report,
    Status,
    error,
    warning,
)
from pgsched.telemetry import printable
from pgsched.version import __version__

_EACH, _ALL = 8.0, 25.0  # seconds for a check and for the examination
_CANCELLING = 0.5  # seconds in which a server that is still there cancels a statement
_WORST_FIRST = ("error", "warning", "note")
_STATUS: dict[str, Status] = {"error": "error", "warning": "warning", "note": "fine"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Examination:
    """What all checks of an examination are given; a connection is lent to each."""

    lend: Lend
    url: str | None = None
    ring: KeyRing | None = None
    bounds: Bounds = BOUNDS

    async def make(self, name: str, check: Check) -> list[Finding]:
        """Makes one check."""
        try:
            async with asyncio.timeout(_EACH + _CANCELLING), asyncio.timeout(_EACH), self.lend() as connection:
                found = await self._look(connection, check)
        except TimeoutError:
            found = [_unmade(f"it took longer than {_EACH:g} seconds")]
        except Exception as failure:  # whatever is wrong with one check, the others are made
            found = [_unmade(_said(failure))]
        return [_plain(one, name) for one in found]

    async def _look(self, connection: Connection, check: Check) -> list[Finding]:
        try:
            async with connection.transaction():
                await connection.execute(DOCTOR_LOCALLY)
                return list(
                    await check(Ground(connection=connection, url=self.url, ring=self.ring, bounds=self.bounds))
                )
        except psycopg.errors.InsufficientPrivilege as refused:
            return [_unmade(f"the login {connection.info.user} may not look: {_said(refused)}")]


async def examine(
    lend: Lend, *, url: str | None = None, ring: KeyRing | None = None, checks: Mapping[str, Check] = CHECKS
) -> Report:
    """Makes the checks. Never raises because of the database: that it is away is what is found then."""
    examination = Examination(lend=lend, url=url, ring=ring)
    try:
        server, is_there, revision = await _told(lend)
    except (psycopg.Error, PgschedError, OSError, TimeoutError) as failure:
        return _report([_away(failure)], [])
    until = time.monotonic() + _ALL
    made: list[str] = []
    findings: list[Finding] = []
    for name, check in checks.items():
        if not is_there and name in OF_THE_SCHEMA:
            continue
        if time.monotonic() > until:
            findings.append(_plain(_unmade(f"the others took longer than {_ALL:g} seconds"), name))
            continue
        findings += await examination.make(name, check)
        made.append(name)
    return _report(findings, made, server=server, revision=revision)


async def _told(lend: Lend) -> tuple[str, bool, str | None]:
    """The server's version, whether pgsched is in the database, and the revision where that may be read."""
    async with (
        asyncio.timeout(_EACH + _CANCELLING),
        asyncio.timeout(_EACH),
        lend() as connection,
        connection.transaction(),
    ):
        server, is_there, is_shown = await first(connection, "doctor/server") or ("", False, False)
        found = await column(connection, "admin/revisions") if is_shown else []
        return str(server), bool(is_there), ", ".join(found) or None


def _report(
    findings: list[Finding], checks: list[str], *, server: str | None = None, revision: str | None = None
) -> Report:
    ordered = sorted(findings, key=lambda finding: _WORST_FIRST.index(finding.severity))
    status = _STATUS[ordered[0].severity] if ordered else "fine"
    return Report(status=status, release=__version__, server=server, revision=revision, checks=checks, findings=ordered)


def _said(failure: Exception) -> str:
    """The one line that says it; what the server says is more."""
    primary = failure.diag.message_primary if isinstance(failure, psycopg.Error) else None
    return primary or " ".join(str(failure).split())[:300] or type(failure).__name__


def _unmade(reason: str) -> Finding:
    return warning(
        f"this could not be looked at: {reason}",
        why="Whether it is as it should be is not known.",
        do="Ask as a login that may look, such as a member of pgsched_reader and pg_monitor, or when the server has "
        "time.",
    )


def _plain(finding: Finding, check: str) -> Finding:
    """The finding of a check. What is named in it, anybody may have named: nothing in it is taken for more than text,
    and no password is repeated."""
    seen, why, do = (printable(without_passwords(text)) for text in (finding.seen, finding.why, finding.do))
    return replace(finding, check=check, seen=seen, why=why, do=do)


def _away(failure: Exception) -> Finding:
    said = " ".join(str(failure).split())[:500] or "it did not answer in time"
    found = error(
        said if isinstance(failure, Unavailable) else f"the database cannot be reached: {said}",
        why="Without it nothing is scheduled or delivered; what was scheduled is delivered once it is back.",
        do="See that the server runs, lets this login in, and is at the address that database_url names.",
    )
    return _plain(found, "database")
