"""``pgsched jobs preview``: shows when a schedule fires. Only the preview of a job needs the database or the API."""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import click

from pgsched.cli.answer_tables import changes_in
from pgsched.cli.api_or_database import Ask, api_option, asking
from pgsched.cli.id_or_key import id_of_one, key_option, name_argument
from pgsched.cli.options import many_option, recurrence_options
from pgsched.cli.parameters import instant
from pgsched.cli.reply import Reply, json_option, table
from pgsched.cli.settings_flags import DATABASE, settings_options
from pgsched.domain.schedule import write_instant
from pgsched.errors import InvalidInput

_Named = tuple[str | None, str | None, str | None]
"""The values that name a job: the argument (its id or key), ``--key``, and ``--client``."""


@click.command()
@settings_options(DATABASE)
@api_option()
@name_argument
@key_option
@click.option("--client", metavar="NAME", help="Client that the key belongs to, if several have it.")
@click.option("--fire-at", metavar="INSTANT", help="Once, at this instant.")
@recurrence_options(is_new=True)
@many_option("--rule", "Recurrence rule, such as max_runs=3.")
@click.option(
    "--identity", metavar="CLIENT/KEY", help="The job's client and key, needed for H in --cron; e.g. default/nightly."
)
@click.option("--anchor", metavar="INSTANT", help="Instant from which --every counts.  [default: --from, or the job's]")
@click.option("--from", "after", type=instant, metavar="INSTANT", help="Show instants after this one.  [default: now]")
@click.option("--count", type=click.IntRange(1, 1000), default=5, show_default=True, help="Number of instants.")
@json_option
@click.pass_obj
def preview(
    reply: Reply,
    /,
    api: str | None,
    name: str | None,
    key: str | None,
    client: str | None,
    after: datetime | None,
    count: int,
    **given: Any,
) -> None:
    """Show the next instants of a schedule, in its time zone and in UTC.

    For a job, show its next instants before and after the given changes.
    """
    flags = {name: given.pop(name) for name in (*DATABASE, "config")}
    if name is not None or key is not None:
        _preview_job(reply, asking(flags, api), (name, key, client), after, count, given)
        return
    if api is not None or client is not None:
        raise InvalidInput("--api and --client need a job: name a job, or leave both flags out to preview a schedule")
    from pgsched.domain.preview import preview

    fires = preview(after=after or datetime.now(UTC).replace(microsecond=0), count=count, **given)
    reply.give({"next": _shown(fires)}, _text(fires))


def _preview_job(
    reply: Reply, ask: Ask, job: _Named, after: datetime | None, count: int, given: dict[str, Any]
) -> None:
    for name in ("fire_at", "identity"):
        if given.pop(name) is not None:
            raise InvalidInput(f"--{name.replace('_', '-')} and a job cannot be combined: leave the flag out")
    changed = any(value is not None for value in given.values())
    changes = changes_in(given) if changed else {}

    async def question(backend: Any) -> Any:
        id = await id_of_one(backend, "job", *job)
        return await backend.preview_job(id, changes, start=after, count=count)

    found = ask(question)
    text = _text(found.before)
    if changed:
        text = f"before\n{text}\n\nafter\n{_text(found.after)}"
    out = [write_instant(at) for at in found.exceptions]
    if out:
        text = f"{text}\n\nnot shown because they were cancelled in advance: {', '.join(out)}"
    reply.give({"before": _shown(found.before), "after": _shown(found.after), "exceptions": out}, text)


def _shown(fires: Iterable[Any]) -> list[dict[str, Any]]:
    return [{"fire_at": write_instant(fire.fire_at), "local": fire.local, "note": fire.note} for fire in fires]


def _text(fires: Iterable[Any]) -> str:
    rows = [(fire.local, write_instant(fire.fire_at), fire.note or "") for fire in fires]
    return table(("local", "utc", "note"), rows) if rows else "never"
