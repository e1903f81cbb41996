"""``pgsched status``: how the whole stands, at a glance."""

from typing import Any

import click

from pgsched.cli.configuration import DATABASE, load_settings, settings_options, with_database
from pgsched.cli.reply import Reply, json_option, listing, table

_COUNTS = "select status::text, count(*) from pgsched.status group by status order by status"
_LATENESS = """
select coalesce(extract(epoch from clock_timestamp() - min(fire_at)), 0)::float8 as seconds
  from pgsched.executions where lease_token is null and fire_at <= clock_timestamp()
"""
_WORKERS = """
select id, name, queues, release, started_at, expires_at from pgsched.workers
 where gone_since is null and expires_at > clock_timestamp() order by id
"""


@click.command()
@settings_options(DATABASE)
@json_option
@click.pass_obj
def status(reply: Reply, /, **flags: Any) -> None:
    """Show executions by status, the workers, and how late the oldest due execution is.

    Counts every row that is kept, so it takes its time where there are millions.
    """
    from pgsched.cli.database import connected

    with connected(with_database(load_settings(flags))) as connection:
        counts = {row["status"]: row["count"] for row in connection.execute(_COUNTS)}
        late = connection.execute(_LATENESS).fetchone()
        workers = connection.execute(_WORKERS).fetchall()
    seconds = float(late["seconds"]) if late else 0.0
    value = {"executions": counts, "oldest_due_seconds": seconds, "workers": workers}
    reply.give(value, _text(counts, seconds, workers))


def _text(counts: dict[str, int], seconds: float, workers: list[dict[str, Any]]) -> str:
    parts = [listing({**counts, "oldest due": f"{seconds:.3f} s late" if seconds else "nothing is due"})]
    columns = ("id", "name", "queues", "release", "started_at")
    rows = [[row["id"], row["name"], ",".join(row["queues"]), row["release"], row["started_at"]] for row in workers]
    parts.append(table(columns, rows) if rows else "no workers")
    return "\n\n".join(parts)
