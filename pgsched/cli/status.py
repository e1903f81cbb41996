"""``pgsched status``: how the whole stands, at a glance."""

from dataclasses import asdict
from typing import Any

from pgsched.cli.answers import Answer
from pgsched.cli.commands import command
from pgsched.cli.reply import listing, table


@command()
async def status(connection: Any) -> Answer:
    """Show executions by status, the workers, how late the oldest due execution is, and what no worker can deliver.

    Counts up to 10,000 of what is due, due later, held and ended, so that it is quick where there are millions. Names
    the transactions that are prepared and not ended: what they have locked waits for them.
    """
    from pgsched.store.lookup import overview

    counts = await overview.count(connection)
    found: dict[str, Any] = {
        "executions": counts.executions,
        "at_least": counts.at_least,
        "oldest_due_seconds": await overview.oldest_due(connection),
        "tzdata": await overview.zone_rules(connection),
        "workers": [asdict(worker) for worker in await overview.living_workers(connection)],
        "undeliverable": [asdict(one) for one in await overview.undeliverable(connection)],
        "prepared": [asdict(one) for one in await overview.prepared_transactions(connection)],
    }
    return Answer(found, _text(**found))


def _text(
    executions: dict[str, int],
    at_least: list[str],
    oldest_due_seconds: float,
    tzdata: str | None,
    workers: list[dict[str, Any]],
    undeliverable: list[dict[str, Any]],
    prepared: list[dict[str, Any]],
) -> str:
    late = f"{oldest_due_seconds:.3f} s late" if oldest_due_seconds else "nothing is due"
    counts = {name: f"{number:,}{'+' if name in at_least else ''}" for name, number in executions.items()}
    parts = [listing({**counts, "oldest due": late, "time zone rules": tzdata})]
    columns = ("id", "name", "queues", "release", "started_at")
    parts.append(table(columns, [[row[name] for name in columns] for row in workers]) if workers else "no workers")
    if undeliverable:
        lines = [[f"{row['needs']}", row["held"], row["workers"] or "none"] for row in undeliverable]
        parts.append(table(("waits for a worker with", "executions", "workers that have it"), lines))
    if prepared:
        parts.append(table(("left prepared", "by", "since"), [list(row.values()) for row in prepared]))
    return "\n\n".join(parts)
