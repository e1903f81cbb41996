"""``pgsched audit``: who changed what, and what was so before and after."""

from typing import Any
from uuid import UUID

import click

from pgsched.cli.answers import Answer, listed
from pgsched.cli.commands import command
from pgsched.cli.options import page_options
from pgsched.cli.parameters import identity

_COLUMNS = ("id", "at", "actor", "authenticated", "action", "kind", "name", "before", "after")


@command()
@click.option("--subject", type=identity, metavar="ID", help="Only changes of this job or execution.")
@click.option("--kind", metavar="KIND", help="Only changes of this kind of object, e.g. client.")
@click.option("--name", metavar="NAME", help="Only changes of the object with this name.")
@click.option("--action", metavar="ACTION", help="Only this action.")
@click.option("--actor", metavar="NAME", help="Only changes by this actor or authenticated subject.")
@page_options(click.IntRange(1), "ID")
async def audit(connection: Any, limit: int, after: int | None, **given: UUID | str | None) -> Answer:
    """List changes, newest first: who changed what, with the values before and after."""
    from pgsched.answers import page_of
    from pgsched.store.admin.audit import AuditFilter, changes

    wanted: Any = given
    found = await changes(connection, AuditFilter(**wanted), limit=limit + 1, after=after)
    return listed(page_of(found, limit, lambda row: row.id), _COLUMNS, "nothing was changed")
