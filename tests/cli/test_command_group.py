"""Help lists each command once, untruncated, under a heading, and imports no command."""

import subprocess
import sys

import click
import pytest

from pgsched.cli.main import cli
from tests.cli.conftest import Run
from tests.cli.test_documented import COMMANDS

_IMPORTED = """
import sys
from click.shell_completion import ShellComplete
from click.testing import CliRunner
from pgsched.cli.main import cli
assert CliRunner().invoke(cli, ["--help"]).exit_code == 0
assert len(ShellComplete(cli, {}, "pgsched", "_X").get_completions([], "")) > 10
print(*sorted(name for name in sys.modules if name.startswith(("psycopg", "pgsched.store", "pgsched.cli"))))
"""
_GROUPS = sorted({path.rpartition(" ")[0].removeprefix("pgsched").strip() for path in COMMANDS})


def test_there_are_at_most_22_top_level_commands() -> None:
    assert len(cli.list_commands(click.Context(cli))) <= 22


@pytest.mark.parametrize("path", _GROUPS)
def test_command_summaries_in_help_are_not_truncated(run: Run, path: str) -> None:
    assert "..." not in run(*path.split(), "--help").output.partition("\n")[2]


def test_top_level_help_fits_80_columns(run: Run) -> None:
    lines = run("--help", terminal_width=80).output.split("Run it:")[1].splitlines()
    names = [line.split()[0] for line in lines if line.startswith("  ")]
    assert names == cli.list_commands(click.Context(cli))


def test_help_and_completion_import_no_commands() -> None:
    told = subprocess.run([sys.executable, "-c", _IMPORTED], capture_output=True, text=True, check=True).stdout
    assert set(told.split()) == {f"pgsched.cli{name}" for name in ("", ".command_group", ".main", ".reply")}


def test_the_error_for_an_unknown_subcommand_lists_the_known_subcommands(run: Run) -> None:
    refused = run("admin", "nothing")
    assert (refused.exit_code, "there is no command 'nothing'; the commands are keys," in refused.stderr) == (2, True)
