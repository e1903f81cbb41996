"""Shell completion of commands, flags and choices."""

import subprocess

import pytest
from click.shell_completion import ShellComplete

from pgsched.cli.completion import VARIABLE
from pgsched.cli.main import cli
from tests.cli.conftest import Run


@pytest.mark.parametrize(("words", "begun", "found"), [
    ([], "dead", ["dead-letters"]), (["jobs"], "pau", ["pause"]), (["bulk", "pause"], "--lab", ["--label"]),
    (["completion"], "f", ["fish"]),
])  # fmt: skip
def test_commands_flags_and_choices_are_completed(words: list[str], begun: str, found: list[str]) -> None:
    items = ShellComplete(cli, {}, "pgsched", VARIABLE).get_completions(words, begun)
    assert [item.value for item in items] == found


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_completion_script_calls_pgsched(run: Run, shell: str) -> None:
    answer = run("completion", shell)
    assert answer.exit_code == 0
    assert f"{VARIABLE}={shell}_complete" in answer.output


def test_bash_accepts_the_completion_script(run: Run) -> None:
    check = "source /dev/stdin && complete -p pgsched"
    told = subprocess.run(["bash", "-c", check], input=run("completion", "bash").output, capture_output=True, text=True)
    assert told.stdout.startswith("complete"), told.stderr
