"""What an installer has left to be compiled is compiled by another process while ``pgsched up`` begins."""

import importlib
import importlib.util
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from pgsched.cli import first_start


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The commands that it has run, with a package of this test's own as the largest that the API imports."""
    commands: list[list[str]] = []

    def run(words: list[str], **_: Any) -> None:
        commands.append(words)

    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.setattr(first_start, "_LARGEST", "never_compiled")
    return commands


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    made = tmp_path / "never_compiled" / "__init__.py"
    made.parent.mkdir()
    made.touch()
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    importlib.invalidate_caches()
    return made


def _begin() -> None:
    before = set(threading.enumerate())
    first_start.compile_meanwhile()
    for thread in set(threading.enumerate()) - before:
        thread.join()


def test_what_was_never_compiled_is_imported_by_another_process(started: list[list[str]], package: Path) -> None:
    _begin()
    assert started == [[sys.executable, "-P", "-c", "import pgsched.api.server"]]


def test_what_was_compiled_before_is_left_alone(started: list[list[str]], package: Path) -> None:
    compiled = Path(importlib.util.cache_from_source(str(package)))
    compiled.parent.mkdir()
    compiled.touch()
    _begin()
    assert started == []


def test_where_no_bytecode_may_be_written_nothing_is_compiled(
    started: list[list[str]], package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    _begin()
    assert started == []


def test_without_the_package_nothing_is_compiled(started: list[list[str]]) -> None:
    _begin()
    assert started == []
