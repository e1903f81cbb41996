"""The entry point. A command is imported when it is named, so that none waits for the imports of another."""

import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from io import TextIOWrapper
from keyword import iskeyword
from pathlib import Path
from typing import Any

import click

from pgsched.cli.reply import Reply
from pgsched.errors import InvalidInput, PgschedError
from pgsched.version import __version__

_COMMANDS = (
    *("up", "migrate", "api", "worker", "schedule", "jobs", "executions", "bulk", "events", "dead-letters"),
    *("clients", "queues", "limits", "workers", "keys"),
    *("secrets", "targets", "ordering-keys", "installation", "history", "audit"),
    *("status", "top", "doctor", "recover"),
    *("forecast", "preview", "apply", "import", "demo", "bench", "completion"),
)
_MODULES = {"api": "processes", "worker": "processes", "import": "import_"}
"""The modules of commands that do not have one of their own name."""
_NO_ARGUMENTS: Any = getattr(click.exceptions, "NoArgsIsHelpError", ())
"""Raised for a group without a command; click before 8.2 shows the help by itself."""


class Commands(click.Group):
    """A group whose commands all end with one answer: see ``pgsched.cli.reply``.

    Exit status 0: done. 1: it failed. 2: the request is invalid. 130: Ctrl-C.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        name = cmd_name.replace("-", "_")
        module = import_module(f"pgsched.cli.{_MODULES.get(name, name)}")
        found: click.Command = getattr(module, f"{name}_" if iskeyword(name) else name)
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in _COMMANDS and not args[0].startswith("-"):
            raise click.UsageError(f"there is no command {args[0]!r}; the commands are {', '.join(_COMMANDS)}")
        return super().resolve_command(ctx, args)

    def main(self, args: Sequence[str] | None = None, *rest: Any, **extra: Any) -> Any:
        words = list(sys.argv[1:] if args is None else args)
        reply = Reply(as_json="--json" in words)
        extra["standalone_mode"] = False
        _prepare_streams()
        sys.exit(_status(reply, lambda: super(Commands, self).main(words, *rest, obj=reply, **extra)))


def _prepare_streams() -> None:
    """Lets everything be written: what a terminal's encoding lacks is escaped, and a stream that was closed before the
    command began takes all and shows nothing, or is empty."""
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
        sys.stderr.close()  # whoever read the answer has gone; the interpreter need not say so
        return 1
    except OSError as error:
        reply.fail(PgschedError.code, str(error))
        return 1
    except (KeyboardInterrupt, click.Abort):
        return 130
    except Exception as error:
        return _database_error(reply, error)


def _database_error(reply: Reply, error: Exception) -> int:
    """The driver's errors that a command let through are explained too; a bug keeps its traceback."""
    from pgsched.store.core.refusals import refusal

    found = refusal(error)
    if found is None:
        raise error
    reply.fail(found.code, " ".join(str(found).split()))
    return 2 if isinstance(found, InvalidInput) else 1


@click.command(cls=Commands, context_settings={"help_option_names": ["--help"], "max_content_width": 100})
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
