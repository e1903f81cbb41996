"""``pgsched status``: the state of the installation at a glance."""

from datetime import timedelta
from typing import Any

from pgsched.cli.answer_tables import Answer, cells
from pgsched.cli.command_decorators import database_command
from pgsched.cli.reply import listing, table
from pgsched.domain.histogram import BUCKETS
from pgsched.store import verbs
from pgsched.store.admin.installation_settings import get_installation
from pgsched.store.jobs.zone_rules import versions
from pgsched.store.lookup import overview, throughput
from pgsched.store.lookup.throughput import Done, Objective, Span

_DONE = ("in the last hour", "ended", "failed", "attempts", "failed", "late p99", "took p99")
_OBJECTIVE = ("client", "objective", "attempts in the last hour", "on time", "")
_WORKER = ("id", "name", "queues", "release", "started_at")


@database_command()
async def status(connection: Any) -> Answer:
    """Show executions by status, the last hour's throughput, the workers, the lateness of the oldest due execution, and
    what no worker can deliver.

    Counts stop at 10,000, so that the command stays fast with millions of rows. Also lists prepared transactions that
    have not ended, because their locks block other work.
    """
    counts = await overview.count(connection)
    state = await get_installation(connection)
    until = await verbs.now(connection)
    span = Span(start=until - timedelta(hours=1), end=until)
    found: dict[str, Any] = {
        "held_since": state.held_since,
        "held_because": state.reason,
        "executions": counts.executions,
        "at_least": counts.at_least,
        "oldest_due_seconds": await overview.oldest_due(connection),
        "last_hour": await throughput.by_queue(connection, span),
        "objectives": await throughput.objectives(connection),
        "tzdata": (await versions(connection)).planned_by,
        "workers": await overview.living_workers(connection),
        "undeliverable": await overview.undeliverable(connection),
        "prepared": await overview.prepared_transactions(connection),
    }
    return Answer(found, _text(found))


def _done(one: Done) -> list[Any]:
    counts = [f"{count:,}" for count in (one.ended, one.failed, one.attempts, one.failed_attempts)]
    return [one.queue, *counts, *(_seconds(spread.p99) for spread in (one.lateness, one.duration))]


def _objective(one: Objective) -> list[Any]:
    wanted = f"{one.on_time_share:.6g} within {one.late_after.total_seconds():g} s"
    met = "" if one.on_time is None else f"{one.on_time:.4f}"
    return [one.client, wanted, f"{one.attempts:,}", met, "missed" if (one.burn or 0.0) > 1.0 else ""]


def _seconds(seconds: float | None) -> str:
    if seconds is None:
        return ""
    if seconds >= BUCKETS[-1]:  # the last bucket has no upper bound
        return f"{BUCKETS[-1]:,.0f} s or more"
    return f"{seconds:,.0f} s" if seconds >= 100 else f"{seconds:.3g} s"


def _text(found: dict[str, Any]) -> str:
    late = f"{found['oldest_due_seconds']:.3f} s late" if found["oldest_due_seconds"] else "nothing is due"
    counts = {
        name: f"{number:,}{'+' if name in found['at_least'] else ''}" for name, number in found["executions"].items()
    }
    parts = [listing({**counts, "oldest due": late, "time zone rules": found["tzdata"]})]
    if found["held_since"]:
        held = f"held for recovery since {found['held_since']:%Y-%m-%d %H:%M:%SZ}: {found['held_because']}"
        parts.insert(0, f"{held}\npgsched admin recover shows what would fire; add --release to let workers continue")
    if found["last_hour"]:
        parts.append(table(_DONE, [_done(one) for one in found["last_hour"]]))
    if found["objectives"]:
        parts.append(table(_OBJECTIVE, [_objective(one) for one in found["objectives"]]))
    parts.append(table(_WORKER, cells(_WORKER, found["workers"])) if found["workers"] else "no workers")
    if found["undeliverable"]:
        lines = [[one.needs, one.held, one.workers or "none"] for one in found["undeliverable"]]
        parts.append(table(("waits for a worker with", "executions", "workers that have it"), lines))
    if found["prepared"]:
        lines = cells(("gid", "owner", "prepared"), found["prepared"])
        parts.append(table(("prepared transaction", "by", "since"), lines))
    return "\n\n".join(parts)
