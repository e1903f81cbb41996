"""Command groups that import their commands lazily, and whose help shows each command's line in full."""

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

import click
from click.shell_completion import CompletionItem

Sections = Mapping[str, Mapping[str, tuple[str, str]]]
"""The help's headings, each with its commands by name. A command's value is its module and attribute in
``pgsched.cli``, such as ``server_commands:worker``, and its line in the help."""


class CommandGroup(click.Group):
    """A group that imports commands only when they run, so that help and completion do not wait for the imports."""

    def __init__(self, name: str | None = None, *, sections: Sections | None = None, **attributes: Any) -> None:
        super().__init__(name, **attributes)
        self._sections: Sections = sections or {}

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*(name for lines in self._sections.values() for name in lines), *super().list_commands(ctx)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        for lines in self._sections.values():
            if cmd_name in lines:
                where, line = lines[cmd_name]
                module, _, attribute = where.partition(":")
                found: click.Command = getattr(import_module(f"pgsched.cli.{module}"), attribute)
                found.help = found.help or line
                return found
        return super().get_command(ctx, cmd_name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        names = self.list_commands(ctx)
        if args and args[0] not in names and not args[0].startswith("-"):
            raise click.UsageError(f"there is no command {args[0]!r}; the commands are {', '.join(names)}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        width = max(map(len, self.list_commands(ctx)))
        for heading, lines in self._help_lines(ctx):
            if lines:
                with formatter.section(heading):
                    formatter.write_dl([(name.ljust(width), line) for name, line in lines])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        found = [
            CompletionItem(name, help=line)
            for _, lines in self._help_lines(ctx)
            for name, line in lines
            if name.startswith(incomplete)
        ]
        return [*found, *click.Command.shell_complete(self, ctx, incomplete)]

    def _help_lines(self, ctx: click.Context) -> Iterator[tuple[str, list[tuple[str, str]]]]:
        for heading, lines in self._sections.items():
            yield heading, [(name, line) for name, (_, line) in lines.items()]
        # With this limit, no sentence is cut; click wraps long lines.
        own = [(name, self.commands[name].get_short_help_str(limit=1_000)) for name in super().list_commands(ctx)]
        yield "Commands", own
