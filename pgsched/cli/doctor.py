"""``pgsched doctor``: finds problems in the installation and says what to do about them."""

import asyncio
from dataclasses import asdict
from typing import Any

import click

from pgsched.cli.api_or_database import api_option, refuse_api
from pgsched.cli.reply import Reply, json_option
from pgsched.cli.settings_flags import DATABASE, load_settings, settings_options, with_database
from pgsched.sealing import KeyRing
from pgsched.store.core.new_connection import lending
from pgsched.store.doctor.examination import examine
from pgsched.store.doctor.finding import Finding, Report

_STATUSES = {"fine": 0, "warning": 1, "error": 2}


@click.command()
@api_option(hidden=True)
@settings_options(DATABASE)
@json_option
@click.pass_context
def doctor(context: click.Context, /, api: str | None, **flags: Any) -> None:
    """Check the database, the schema, the workers and their work, and say how to fix problems.

    Changes nothing. Exit status 0: no problems. 1: warnings. 2: something is not delivered, or the
    database cannot be reached.
    """
    reply: Reply = context.obj
    refuse_api("pgsched doctor", api)
    settings = with_database(load_settings(flags))
    report = asyncio.run(_examine(settings.database_url or "", KeyRing.parse(settings.secret_keys)))
    reply.give(asdict(report), _text(report))
    context.exit(_STATUSES[report.status])


async def _examine(url: str, ring: KeyRing | None) -> Report:
    async with lending(url) as lend:
        return await examine(lend, url=url, ring=ring)


def _text(report: Report) -> str:
    return "\n\n".join([*map(_said, report.findings), _summary(report)])


def _said(finding: Finding) -> str:
    return f"{finding.severity}: {finding.check}: {finding.seen}\n  {finding.why}\n  Do: {finding.do}"


def _summary(report: Report) -> str:
    counted = [
        f"{count} {severity}{'s' if count != 1 else ''}"
        for severity in ("error", "warning", "note")
        if (count := sum(finding.severity == severity for finding in report.findings))
    ]
    about = f"pgsched {report.release}, PostgreSQL {report.server or 'unknown'}"
    return f"{about}: {len(report.checks)} checks, {', '.join(counted) or 'nothing found'}"
