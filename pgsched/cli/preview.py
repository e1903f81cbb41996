"""``pgsched preview``: when a schedule fires, without scheduling anything. Needs no database."""

from datetime import UTC, datetime
from typing import Any

import click

from pgsched.cli.parameters import INSTANT
from pgsched.cli.reply import Reply, json_option, table


@click.command()
@click.option("--at", metavar="INSTANT", help="Once, at this instant.")
@click.option("--cron", metavar="EXPRESSION", help="Five fields, or six with seconds first.")
@click.option("--every", metavar="DURATION", help="This far apart, such as 15m.")
@click.option("--timezone", metavar="ZONE", help="Time zone of --cron.  [default: UTC]")
@click.option("--gap", metavar="POLICY", help="--cron, hour left out in spring: shift or skip.  [default: shift]")
@click.option(
    "--overlap", metavar="POLICY", help="--cron, hour twice in autumn: first, second or both.  [default: first]"
)
@click.option("--identity", metavar="CLIENT/KEY", help="--cron with H: whose job it is, such as default/nightly.")
@click.option("--anchor", metavar="INSTANT", help="--every counts from here.  [default: --from]")
@click.option("--from", "after", type=INSTANT, metavar="INSTANT", help="Instants later than this.  [default: now]")
@click.option("--count", type=click.IntRange(1, 1000), default=5, show_default=True, help="How many.")
@json_option
@click.pass_obj
def preview(
    reply: Reply, /, every: str | None, anchor: str | None, after: datetime | None, count: int, **parts: Any
) -> None:
    """Show the next instants of a schedule, on its own clock and in UTC."""
    from pgsched.domain.schedule import from_parts, next_fires

    after = after or datetime.now(UTC).replace(microsecond=0)
    if every is not None and anchor is None:
        anchor = after.isoformat()
    fires = next_fires(from_parts(every=every, anchor=anchor, **parts), after=after, count=count)
    shown = [
        {"at": fire.at.isoformat().replace("+00:00", "Z"), "local": fire.local, "note": fire.note} for fire in fires
    ]
    text = table(("local", "utc", "note"), [(row["local"], row["at"], row["note"] or "") for row in shown])
    reply.give({"next": shown}, text if shown else "never again")
