"""``pgsched preview``: when a schedule fires, without scheduling anything. Needs a database only for ``--job``."""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import click

from pgsched.cli.configuration import DATABASE, load_settings, settings_options, with_database
from pgsched.cli.edits import job_changes_in
from pgsched.cli.options import many_option, recurrence_options
from pgsched.cli.parameters import identity, instant
from pgsched.cli.reply import Reply, json_option, table
from pgsched.errors import InvalidInput


@click.command()
@settings_options(DATABASE)
@click.option("--job", type=identity, metavar="ID", help="Preview this job, before and after the given change.")
@click.option("--at", metavar="INSTANT", help="Once, at this instant.")
@recurrence_options(is_new=True)
@many_option("--rule", "How it recurs, such as max_runs=3.")
@click.option(
    "--identity", metavar="CLIENT/KEY", help="--cron with H: client and key of the job, e.g. default/nightly."
)
@click.option("--anchor", metavar="INSTANT", help="Instant that --every starts from.  [default: --from, or the job's]")
@click.option("--from", "after", type=instant, metavar="INSTANT", help="Show instants after this one.  [default: now]")
@click.option("--count", type=click.IntRange(1, 1000), default=5, show_default=True, help="Number of instants.")
@json_option
@click.pass_obj
def preview(reply: Reply, /, job: UUID | None, after: datetime | None, count: int, **given: Any) -> None:
    """Show the next instants of a schedule, on its own clock and in UTC."""
    flags = {name: given.pop(name) for name in (*DATABASE, "config")}
    given["rules"] = dict(given["rules"]) or None
    if job is not None:
        _preview_job(reply, flags, job, after, count, given)
        return
    from pgsched.domain.preview import preview

    fires = preview(after=after or datetime.now(UTC).replace(microsecond=0), count=count, **given)
    reply.give({"next": _shown(fires)}, _text(fires))


def _preview_job(
    reply: Reply, flags: dict[str, Any], job: UUID, after: datetime | None, count: int, given: dict[str, Any]
) -> None:
    from pgsched.cli.database import ask
    from pgsched.store.jobs import edits

    for name in ("at", "identity"):
        if given.pop(name) is not None:
            raise InvalidInput(f"--{name} does not go with --job, which has its own: leave it out")
    changed = any(value is not None for value in given.values())
    changes = edits.changes_of(job_changes_in(given)) if changed else "{}"
    settings = with_database(load_settings(flags))
    found = ask(settings, lambda connection: edits.preview_job(connection, job, changes, start=after, count=count))
    text = _text(found.before)
    if changed:
        text = f"before\n{text}\n\nafter\n{_text(found.after)}"
    reply.give({"before": _shown(found.before), "after": _shown(found.after)}, text)


def _shown(fires: Iterable[Any]) -> list[dict[str, Any]]:
    return [{"at": _utc(fire.at), "local": fire.local, "note": fire.note} for fire in fires]


def _text(fires: Iterable[Any]) -> str:
    rows = [(fire.local, _utc(fire.at), fire.note or "") for fire in fires]
    return table(("local", "utc", "note"), rows) if rows else "never again"


def _utc(at: datetime) -> str:
    return at.isoformat().replace("+00:00", "Z")
