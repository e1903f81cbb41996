"""``pgsched admin audit``: who changed what, with the values before and after."""

from functools import partial
from typing import Any

import click

from pgsched.cli.answer_tables import Answer, listed
from pgsched.cli.command_decorators import command
from pgsched.cli.options import only, page_options

_COLUMNS = ("id", "at", "client", "actor", "authenticated", "action", "kind", "name", "before", "after")


@command()
@only("client")
@click.option("--subject", metavar="ID-or-KEY", help="Only changes to this job or execution.")
@click.option("--kind", metavar="KIND", help="Only changes to this kind of object, e.g. client.")
@click.option("--name", metavar="NAME", help="Only changes to the object with this name.")
@click.option("--action", metavar="ACTION", help="Only this action.")
@click.option("--actor", metavar="NAME", help="Only changes by this actor or authenticated subject.")
@page_options(click.IntRange(1, 2**63 - 1), "ID")
async def audit(
    backend: Any, client: str | None, subject: str | None, limit: int, after: int | None, **given: str | None
) -> Answer:
    """List changes, newest first: who changed what, with the values before and after."""
    id = None if subject is None else await backend.identify("job or execution", subject, client)
    pages = partial(backend.list_changes, client=client, subject=id, **given)
    return await listed(pages, limit, after, _COLUMNS, "no changes")
