"""Commands with streams that are closed or not UTF-8."""

import os
import subprocess
import sys

import pytest

COMMAND = [sys.executable, "-m", "pgsched.cli.main", "jobs", "preview", "--cron", "0 9 * * *"]


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize("as_json", ["", "--json"])
def test_output_to_a_closed_stream_is_discarded(closed: str, as_json: str) -> None:
    shell = f'exec "$@" {as_json} {closed}'
    ended = subprocess.run(["sh", "-c", shell, "sh", *COMMAND], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252"])
def test_characters_outside_the_output_encoding_are_escaped(encoding: str) -> None:
    words = [sys.executable, "-m", "pgsched.cli.main", "jobs", "preview", "--cron", "0 9 * * \u017b\u00f3\u0142w"]
    ended = subprocess.run(
        words, env={**os.environ, "PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"}, capture_output=True, check=False
    )
    assert ended.returncode == 2
    assert "\\u017b" in ended.stderr.decode(encoding)
    assert "Traceback" not in ended.stderr.decode(encoding)


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (["jobs", "import", "crontab", "-"], 0),
        (["jobs", "import", "cloud-scheduler", "-"], 2),
        (["schedule", "python:note", "--payload", "-"], 2),
    ],
)
def test_a_closed_standard_input_is_read_as_empty(words: list[str], status: int) -> None:
    command = [sys.executable, "-m", "pgsched.cli.main", *words]
    ended = subprocess.run(["sh", "-c", 'exec "$@" <&-', "sh", *command], capture_output=True, text=True, check=False)
    assert ended.returncode == status
    assert "Traceback" not in ended.stderr
