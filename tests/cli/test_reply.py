"""Output for terminals: control characters in stored text are escaped."""

import json
import logging

import pytest

from pgsched.cli.log_setup import Printable
from pgsched.cli.reply import Reply, listing, table

HARMFUL = "no\x1b[2J\x9b31m\u202e\u2028\n\r\U000e0001"


def test_control_characters_in_table_cells_are_escaped() -> None:
    lines = table(("reason",), [(HARMFUL,), ([HARMFUL],)]).split("\n")
    assert len(lines) == 3
    assert all(line.isprintable() for line in lines)


def test_control_characters_in_listed_fields_are_escaped() -> None:
    assert listing({"reason": HARMFUL}).isprintable()


def test_json_output_escapes_control_characters_and_keeps_the_values(capsys: pytest.CaptureFixture[str]) -> None:
    Reply(as_json=True).give({"reason": HARMFUL, "name": "Zoë"}, "")
    said = capsys.readouterr().out.removesuffix("\n")
    assert said.isprintable()
    assert "Zoë" in said
    assert json.loads(said) == {"reason": HARMFUL, "name": "Zoë"}


def test_control_characters_in_answers_and_notes_are_escaped(capsys: pytest.CaptureFixture[str]) -> None:
    reply = Reply(as_json=False)
    reply.give({}, f"cancelled\n{HARMFUL}")
    reply.note(f"more of {HARMFUL}")
    said = capsys.readouterr()
    assert all(line.isprintable() for line in (said.out + said.err).split("\n"))


def test_control_characters_in_library_log_lines_are_escaped() -> None:
    record = logging.LogRecord("asyncio", logging.ERROR, "", 0, HARMFUL, None, None)
    assert all(line.isprintable() for line in Printable("%(message)s").format(record).split("\n"))


def test_control_characters_in_errors_are_escaped(capsys: pytest.CaptureFixture[str]) -> None:
    Reply(as_json=False).fail("PS000", "first\nsecond\x1b[2J")
    assert capsys.readouterr().err == "error: first\nsecond\\x1b[2J\n"


@pytest.fixture
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Standard output is a terminal of 80 columns."""
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "80")


@pytest.mark.usefixtures("narrow")
def test_a_table_fits_the_terminal_and_keeps_ids_whole() -> None:
    id = "0192f0c1-7e3a-7b54-8000-0123456789ab"
    [heading, line] = table(("id", "target", "n"), [(id, "https://shop.example/" + "x" * 200, 1)]).split("\n")
    assert (len(line), line.endswith("…  1"), line.startswith(id)) == (80, True, True)
    assert heading.split() == ["id", "target", "n"]


def test_a_piped_table_is_not_truncated() -> None:
    assert "x" * 200 in table(("target",), [("x" * 200,)])
