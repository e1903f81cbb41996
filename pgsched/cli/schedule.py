"""``pgsched schedule``: one call of the SQL function of the same name."""

import json
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import click

from pgsched.cli.configuration import DATABASE, load_settings, settings_options, with_database
from pgsched.cli.parameters import ASSIGNMENT, DURATION, INSTANT, JSON
from pgsched.cli.reply import Reply, json_option
from pgsched.errors import InvalidSchedule
from pgsched.settings import Settings

_CALL = """
select pgsched.schedule(
  target => %(target)s::text, payload => %(payload)s::jsonb, fire_at => %(fire_at)s::timestamptz,
  delay => %(delay)s::interval, cron => %(cron)s::text, every => %(every)s::interval, timezone => %(timezone)s::text,
  client => %(client)s::text, key => %(key)s::text, ordering_key => %(ordering_key)s::text, queue => %(queue)s::text,
  options => %(options)s::jsonb) as id
"""


@click.command()
@settings_options(DATABASE)
@click.argument("target")
@click.option("--at", "fire_at", type=INSTANT, metavar="INSTANT", help="Once, at this instant.")
@click.option("--delay", type=DURATION, metavar="DURATION", help="Once, this long from now, such as 10m.")
@click.option("--cron", metavar="EXPRESSION", help="Again and again: five fields, or six with seconds first.")
@click.option("--every", type=DURATION, metavar="DURATION", help="Again and again, this far apart, such as 15m.")
@click.option("--timezone", metavar="ZONE", help="Time zone of --cron, such as Europe/Berlin.  [default: UTC]")
@click.option("--payload", type=JSON, metavar="JSON", help="What to deliver; @FILE reads a file, - standard input.")
@click.option("--client", default="default", show_default=True, metavar="NAME", help="Whose it is.")
@click.option("--key", metavar="KEY", help="Name, unique for the client; replaces what waits under it.")
@click.option("--ordering-key", metavar="KEY", help="What shares it lives in one partition.")
@click.option("--queue", default="default", show_default=True, metavar="NAME", help="Queue to put it in.")
@click.option(
    "--option",
    "options",
    type=ASSIGNMENT,
    multiple=True,
    metavar="NAME=VALUE",
    help="Delivery option, such as timeout=PT5S or max_attempts=3; repeatable.",
)
@json_option
@click.pass_obj
def schedule(reply: Reply, /, **given: Any) -> None:
    """Schedule a call of TARGET: once, now or later, or again and again.

    TARGET is one URI: https://host/path, python:name and others. Prints the id.
    """
    flags = {name: given.pop(name) for name in (*DATABASE, "config")}
    _check(given["cron"], given["every"], given["timezone"])
    settings = with_database(load_settings(flags))
    found = _call(settings, {**given, "options": json.dumps(dict(given["options"])) if given["options"] else None})
    kind = "job" if given["cron"] is not None or given["every"] is not None else "execution"
    reply.give({"id": found, "kind": kind}, str(found))


def _check(cron: str | None, every: timedelta | None, timezone: str | None) -> None:
    """The database cannot evaluate a cron expression, so a bad one is refused before it gets there."""
    from pgsched.domain.schedule import from_parts

    if cron is not None and every is None:
        from_parts(cron=cron, timezone=timezone)
    elif cron is None and timezone is not None:
        raise InvalidSchedule("timezone goes with cron only: leave it out, or give --cron")


def _call(settings: Settings, values: dict[str, str | datetime | timedelta | None]) -> UUID:
    from pgsched.cli.database import connected

    with connected(settings) as connection:
        row = connection.execute(_CALL, values).fetchone()
    assert row is not None
    found: UUID = row["id"]
    return found
