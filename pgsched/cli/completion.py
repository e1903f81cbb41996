"""``pgsched completion``: generates shell completion from the definitions of commands and flags."""

import click
from click.shell_completion import get_completion_class

from pgsched.cli.reply import Reply, json_option

VARIABLE = "_PGSCHED_COMPLETE"
"""The environment variable with which the script asks for completions. Click reads it before parsing arguments."""
_SHELLS = ("bash", "zsh", "fish")


@json_option
@click.command()
@click.argument("shell", type=click.Choice(_SHELLS))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print a completion script for SHELL. Source it in the shell's startup file."""
    found = get_completion_class(shell)
    assert found is not None
    script = found(context.find_root().command, {}, "pgsched", VARIABLE)
    reply: Reply = context.obj
    text = script.source_template % script.source_vars()
    reply.give({"shell": shell, "script": text}, text.rstrip())
