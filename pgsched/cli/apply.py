"""``pgsched apply``: updates the jobs in the database to match those that an application and a file declare."""

import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from pgsched.cli.answer_tables import Answer
from pgsched.cli.command_decorators import database_command
from pgsched.cli.load_app import load_app
from pgsched.cli.options import actor_option
from pgsched.cli.settings_flags import DEFAULT_FILE
from pgsched.cli.settings_sources import load
from pgsched.domain.declared_job import DeclaredJob, checked, declared_in
from pgsched.errors import InvalidInput
from pgsched.extras import extra
from pgsched.store.jobs import declaring

_YAML = frozenset({".yaml", ".yml"})
_COUNTED = ("added", "changed", "removed", "unchanged")


@database_command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path), required=False)
@click.option("--app", metavar="MODULE:NAME", help="The pgsched.App whose decorators declare jobs.")
@click.option("--name", metavar="NAME", help="Name of the declaration.  [default: the app, or else the file]")
@click.option("--prune", is_flag=True, help="Cancel jobs that this declaration no longer contains.")
@click.option("--dry-run", is_flag=True, help="Show what would change or be refused, and write nothing.")
@click.option("--force", is_flag=True, help="Take over existing jobs with these keys, however they were created.")
@actor_option
async def apply(
    connection: Any,
    file: Path | None,
    app: str | None,
    name: str | None,
    prune: bool,
    dry_run: bool,
    force: bool,
    actor: str | None,
) -> Answer:
    """Create and change the recurring jobs that FILE (TOML or YAML) and an app declare, and show what changed."""
    if file is None and app is None:
        file = DEFAULT_FILE
    name = name or app or str(file and file.name)
    jobs = checked([*(load_app(app).declared if app else ()), *(jobs_of(file) if file else ())])
    changes = await declaring.compare(connection, name, jobs, prune=prune, force=force)
    await declaring.apply(connection, name, changes, actor=actor, undo=dry_run)
    counts = {what: sum(change.what == what for change in changes) for what in _COUNTED}
    told = [_told(change) for change in changes if change.what not in ("left", "unchanged")]
    summary = ", ".join(f"{count} {what}" for what, count in counts.items())
    text = "\n".join([*told, f"{name}: {summary}" + (" (dry run: nothing was written)" if dry_run else "")])
    shown = [_shown(change) for change in changes]
    return Answer({"name": name, "dry_run": dry_run, **counts, "changes": shown}, text, _left(changes))


def jobs_of(file: Path) -> Sequence[DeclaredJob]:
    """Reads the jobs that a file declares. A TOML file may also contain settings. Raises InvalidInput and
    InvalidSettings."""
    if file.suffix.lower() in _YAML:
        with extra("server", by="YAML"):
            from pgsched.cli.declared_yaml import jobs_in
        return declared_in(jobs_in(file), str(file))
    load(flags={}, environment={}, file=file)
    tables = tomllib.loads(file.read_text(encoding="utf-8-sig")).get("jobs")
    if tables is None:
        raise InvalidInput(f"{file} declares no jobs: write [[jobs]] above each job, or jobs = [] to declare none")
    return declared_in(tables, str(file))


def _told(change: Any) -> str:
    lines = [f"{change.what:10}{change.client}/{change.key}"]
    if change.fields:
        lines[0] += f"  ({', '.join(change.fields)})"
    for word, fires in (("before", change.before), ("after", change.after)):
        if fires or change.what == "changed":
            lines.append(f"  {word:8}{', '.join(fire.local for fire in fires) or 'never'}")
    return "\n".join(lines)


def _shown(change: Any) -> dict[str, Any]:
    plain = {name: getattr(change, name) for name in ("what", "client", "key", "id", "fields")}
    return plain | {name: [fire.fire_at for fire in getattr(change, name)] for name in ("before", "after")}


def _left(changes: Sequence[Any]) -> str | None:
    left = [f"{change.client}/{change.key}" for change in changes if change.what == "left"]
    return f"note: kept, although no longer declared (--prune cancels these jobs): {', '.join(left)}" if left else None
