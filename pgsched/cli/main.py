"""The entry point of ``pgsched``, and its commands."""

import os
import sys
from collections.abc import Callable, Sequence
from io import TextIOWrapper
from pathlib import Path
from typing import Any

import click

from pgsched.cli.command_group import CommandGroup
from pgsched.cli.reply import Reply
from pgsched.errors import InvalidInput, PgschedError
from pgsched.version import __version__

_SECTIONS = {
    "Run it": {
        "up": ("up:up", "Start PostgreSQL, the API and workers in one terminal."),
        "api": ("server_commands:api", "Serve the REST API and the dashboard."),
        "worker": ("server_commands:worker", "Deliver due executions."),
        "migrate": ("migrate:migrate", "Upgrade the database schema to this release."),
    },
    "Schedule": {
        "schedule": ("schedule:schedule", "Schedule a call: now, later or repeatedly."),
        "apply": ("apply:apply", "Create and change the jobs that a file or an app declares."),
    },
    "See and change": {
        "jobs": ("jobs:jobs", "List, preview, edit, pause, trigger, cancel and import jobs."),
        "executions": ("executions:executions", "List, explain, edit, cancel and forecast executions."),
        "bulk": ("bulk:bulk", "Change many executions, dead letters or jobs; backfill jobs."),
        "dead-letters": ("dead_letters:dead_letters", "List, replay and discard executions that failed for good."),
        "events": ("events:events", "List how executions ended, oldest first."),
        "status": ("status:status", "Show counts, throughput, lateness and workers."),
        "top": ("top:top", "Watch what is due, running and late."),
    },
    "Operate": {
        "clients": ("clients:clients", "List, set, hold and release clients; rotate their secrets."),
        "queues": ("queues:queues", "List, create, set, pause and drop queues."),
        "limits": ("limits:limits", "Limit clients, hosts, queues and keys."),
        "targets": ("targets:targets", "List, sideline and restore target hosts."),
        "workers": ("workers:workers", "List, drain and resume workers."),
        "doctor": ("doctor:doctor", "Find problems, and say what to do about them."),
        "admin": ("admin_group:admin", "Manage API keys, secrets, audit, history and recovery."),
    },
    "Develop": {
        "bench": ("bench:bench", "Measure pgsched on a temporary database."),
        "completion": ("completion:completion", "Print a shell completion script."),
    },
}
_NO_ARGUMENTS: Any = getattr(click.exceptions, "NoArgsIsHelpError", ())
"""Raised for a group that is called without a command. Click before 8.2 has no such exception, and shows the help
instead."""


class Commands(CommandGroup):
    """A group whose commands each give exactly one answer (see ``pgsched.cli.reply``).

    Exit status 0: done. 1: failed. 2: invalid request. 130: Ctrl-C.
    """

    def main(self, args: Sequence[str] | None = None, *rest: Any, **extra: Any) -> Any:
        words = list(sys.argv[1:] if args is None else args)
        reply = Reply(as_json="--json" in words)
        extra["standalone_mode"] = False
        _prepare_streams()
        sys.exit(_status(reply, lambda: super(Commands, self).main(words, *rest, obj=reply, **extra)))


def _prepare_streams() -> None:
    """Makes standard streams escape what their encoding lacks, and replaces closed streams with the null device."""
    if sys.stdin is None:
        sys.stdin = Path(os.devnull).open(encoding="utf-8")  # noqa: SIM115
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115
        elif isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _status(reply: Reply, run: Callable[[], Any]) -> int:
    try:
        ended = run()
        return ended if isinstance(ended, int) else 0
    except _NO_ARGUMENTS as error:
        click.echo(error.format_message(), err=True)
        return 2
    except click.UsageError as error:
        reply.fail(InvalidInput.code, error.format_message())
        return 2
    except click.ClickException as error:
        reply.fail(PgschedError.code, error.format_message())
        return 1
    except PgschedError as error:
        reply.fail(error.code, str(error))
        return 2 if isinstance(error, InvalidInput) else 1
    except BrokenPipeError:
        sys.stderr.close()  # so that the interpreter does not report that the reader is gone
        return 1
    except OSError as error:
        reply.fail(PgschedError.code, str(error))
        return 1
    except (KeyboardInterrupt, click.Abort):
        return 130
    except Exception as error:
        return _database_error(reply, error)


def _database_error(reply: Reply, error: Exception) -> int:
    """Explains a driver error that a command did not handle. Raises any other error again, with its traceback."""
    from pgsched.store.core.refusals import refusal

    found = refusal(error)
    if found is None:
        raise error
    reply.fail(found.code, " ".join(str(found).split()))
    return 2 if isinstance(found, InvalidInput) else 1


@click.command(
    cls=Commands, sections=_SECTIONS, context_settings={"help_option_names": ["--help"], "max_content_width": 100}
)
@click.version_option(__version__, "--version", message="pgsched %(version)s")
def cli() -> None:
    """At and cron for a whole company, on the PostgreSQL it already runs.

    Settings are taken from flags, then PGSCHED_* variables, then pgsched.toml.
    """


def main() -> None:
    """The entry point of the ``pgsched`` script; exits the interpreter."""
    cli.main(prog_name="pgsched")


if __name__ == "__main__":
    main()
