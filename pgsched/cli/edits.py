"""``pgsched jobs edit``, and the flags that say how a job's schedule is to be changed."""

from typing import Any
from uuid import UUID

import click

from pgsched.cli.configuration import DATABASE, load_settings, settings_options, with_database
from pgsched.cli.parameters import ASSIGNMENT, IDENTITY, INSTANT, JSON, LABEL, actor_option
from pgsched.cli.reply import Command, Reply, json_option
from pgsched.errors import InvalidInput

_TEXTS = ("target", "cron", "every", "timezone", "gap", "overlap", "anchor", "queue", "ordering_key")
_OBJECTS = ("options", "rules", "labels")
_CLEARABLE = ("payload", "options", "rules", "labels", "ordering-key", "timezone", "gap", "overlap", "anchor")


def _timing_options(command: Command) -> Command:
    for decorate in (
        click.option("--anchor", type=INSTANT, metavar="INSTANT", help="--every counts from here."),
        click.option("--overlap", metavar="POLICY", help="--cron, hour twice in autumn: first, second or both."),
        click.option("--gap", metavar="POLICY", help="--cron, hour left out in spring: shift or skip."),
        click.option("--timezone", metavar="ZONE", help="Time zone of --cron, such as Europe/Berlin."),
        click.option("--every", metavar="DURATION", help="This far apart, instead of a cron expression."),
        click.option("--cron", metavar="EXPRESSION", help="Cron expression, instead of an interval."),
    ):
        command = decorate(command)
    return command


@click.command()
@settings_options(DATABASE)
@click.argument("id", type=IDENTITY)
@click.option("--target", metavar="TARGET", help="What to call.")
@_timing_options
@click.option("--payload", type=JSON, metavar="JSON", help="What to deliver; @FILE reads a file, - standard input.")
@click.option(
    "--option", "options", type=ASSIGNMENT, multiple=True, metavar="NAME=VALUE", help="All delivery options it has."
)
@click.option("--rule", "rules", type=ASSIGNMENT, multiple=True, metavar="NAME=VALUE", help="All rules it has.")
@click.option("--label", "labels", type=LABEL, multiple=True, metavar="NAME=TEXT", help="All labels it has.")
@click.option("--queue", metavar="NAME", help="Queue to put it in.")
@click.option("--ordering-key", metavar="KEY", help="What shares it is delivered one at a time and in order.")
@click.option("--clear", type=click.Choice(_CLEARABLE), multiple=True, help="Take this away, or back to its default.")
@actor_option
@json_option
@click.pass_obj
def edit(reply: Reply, /, id: UUID, actor: str | None, **given: Any) -> None:
    """Change a job: only what is named. Its waiting row follows at once; what is running goes on as it was."""
    from pgsched.cli.database import ask
    from pgsched.store.jobs import edits
    from pgsched.store.lookup import listings

    settings = with_database(load_settings({name: given.pop(name) for name in (*DATABASE, "config")}))
    changes = edits.changes_of(changes_in(given))

    async def change(connection: Any) -> Any:
        changed = await edits.edit_job(connection, id, changes, actor=actor)
        return changed, (await listings.planned_instant(connection, id))[0]

    changed, planned = ask(settings, change)
    following = f", fires next at {planned.isoformat()}" if planned else ""
    text = f"changed{following}" if changed else "was so before"
    reply.give({"id": id, "changed": changed, "next_fire": planned}, text)


def changes_in(given: dict[str, Any]) -> dict[str, Any]:
    """What the flags of a command change, by the names that ``pgsched.edit`` has. Raises InvalidInput for nothing."""
    import msgspec

    found = {name: given[name] for name in _TEXTS if given.get(name) is not None}
    found |= {name: dict(given[name]) for name in _OBJECTS if given.get(name)}
    if given.get("payload") is not None:
        found["payload"] = msgspec.Raw(given["payload"].encode())
    for flag in given.get("clear", ()):
        name = flag.replace("-", "_")
        if name in found:
            raise InvalidInput(f"--clear {flag} takes away what another flag gives: leave one of them out")
        found[name] = None
    if not found:
        raise InvalidInput("there is nothing to change: give what shall be different, such as --cron '0 9 * * *'")
    return found
