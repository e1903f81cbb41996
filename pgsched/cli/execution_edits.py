"""``pgsched executions edit`` and ``reschedule``: changing what waits, by its id or its key."""

from datetime import datetime
from typing import Any
from uuid import UUID

import click

from pgsched.cli.answers import Answer, changes_in
from pgsched.cli.commands import command
from pgsched.cli.options import actor_option, many_option, options, payload_option
from pgsched.cli.parameters import identity, instant, label
from pgsched.errors import InvalidInput
from pgsched.store.schedule import calls

which = options(
    click.argument("id", type=identity, required=False),
    click.option("--key", metavar="TEXT", help="Key to look up instead of an id."),
    click.option(
        "--client", metavar="NAME", default="default", show_default=True, help="Client that the key belongs to."
    ),
)


def check_which(id: UUID | None, key: str | None, done: str) -> None:
    """Raises InvalidInput unless one of the two is given."""
    if (id is None) is (key is None):
        raise InvalidInput(f"what is to be {done}? Give an id, or --key with --client")


@command()
@which
@click.option("--target", metavar="TARGET", help="Target to call.")
@payload_option
@many_option("--option", "All delivery options it has.")
@many_option("--label", "All labels it has.", label)
@click.option("--at", "fire_at", type=instant, metavar="INSTANT", help="When it fires.")
@click.option(
    "--clear", type=click.Choice(("payload", "options", "labels")), multiple=True, help="Remove this; repeatable."
)
@click.option("--note", metavar="TEXT", help="Reason, for the audit log.")
@actor_option
async def edit(
    connection: Any, id: UUID | None, key: str | None, client: str, note: str | None, actor: str | None, **given: Any
) -> Answer:
    """Change the given parts of an execution that has not started."""
    import msgspec

    from pgsched.store.schedule.edits import Named, changes_of

    check_which(id, key, "changed")
    found = changes_in(given, "--at 2026-03-01T09:00:00Z")
    if found.get("payload") is not None:
        found["payload"] = msgspec.Raw(found["payload"].encode())
    named = Named(id=id, client=client, key=key)
    is_changed = await named.edit(connection, changes_of(found), note=note, actor=actor)
    row = await named.read(connection)
    following = f", fires at {row.fire_at.isoformat()}" if row.fire_at else ""
    text = f"changed{following}" if is_changed else "was so before"
    return Answer({"id": row.id, "changed": is_changed, "fire_at": row.fire_at}, text)


@command()
@which
@click.option("--at", "fire_at", type=instant, metavar="INSTANT", required=True, help="New instant.")
@actor_option
async def reschedule(
    connection: Any, id: UUID | None, key: str | None, client: str, fire_at: datetime, actor: str | None
) -> Answer:
    """Move a waiting execution, or one waiting for a retry, to another instant."""
    check_which(id, key, "moved")
    what = {"client": client, "key": key} if id is None else {"id": id}
    if id is None:
        await calls.reschedule_by_key(connection, client, str(key), fire_at, actor=actor)
    else:
        await calls.reschedule(connection, id, fire_at, actor=actor)
    return Answer({**what, "fire_at": fire_at}, f"fires at {fire_at.isoformat()}")
