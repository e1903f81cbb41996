"""Drains two checkouts at the same time and compares them. Here both are this checkout; the figures do not matter."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def compared(*arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "tests.benchmarks.paired_drain", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_paired_drain_rates_are_reported_as_a_ratio() -> None:
    result = compared(str(ROOT), str(ROOT), "--rounds=2", "--count=1000", "--metrics")
    assert result.returncode == 0, result.stderr
    assert re.search(r"^executions a second: \d+\.\d{3} \(mean \d+\.\d{3} ± \d+\.\d{3}\)$", result.stdout, re.MULTILINE)
    assert len(re.findall(r"^\d+/s and \d+/s$", result.stderr, re.MULTILINE)) == 2


@pytest.mark.parametrize("arguments", [["."], [".", ".", "--rounds=1"]])
def test_a_comparison_needs_two_checkouts_and_two_rounds(arguments: list[str]) -> None:
    result = compared(*arguments)
    assert (result.returncode, "at least two rounds" in result.stderr) == (2, True)


def test_an_invalid_checkout_ends_the_comparison(tmp_path: Path) -> None:
    (tmp_path / "pgsched").mkdir()
    (tmp_path / "pgsched" / "__init__.py").touch()
    result = compared(str(tmp_path), str(ROOT), "--rounds=2", "--count=1000")
    assert result.returncode == 1
    assert "a drain failed" in result.stderr
