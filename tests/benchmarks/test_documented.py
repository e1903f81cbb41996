"""The benchmarks and their flags are exactly those that are documented."""

import re
from importlib import import_module
from pathlib import Path

import click
import pytest

_HERE = Path(__file__).parent
_PAGE = _HERE.parents[1] / "docs" / "reference" / "benchmarks.md"
_PAIRED = "paired_drain"  # drains two checkouts and does not import pgsched here
_NAMES = sorted(path.stem for path in _HERE.glob("[a-z]*.py") if not path.stem.startswith(("test_", "conftest")))


def _sections() -> dict[str, str]:
    parts = re.split(r"^## python -m tests\.benchmarks\.(\w+)$", _PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def test_every_benchmark_has_a_section_in_the_docs() -> None:
    assert sorted(_sections()) == _NAMES


@pytest.mark.parametrize("name", [name for name in _NAMES if name != _PAIRED])
def test_a_benchmark_has_exactly_the_documented_flags(name: str) -> None:
    command = getattr(import_module(f"tests.benchmarks.{name}"), name)
    options = [option for option in command.params if isinstance(option, click.Option)]
    cells = re.findall(r"^\| (`-.*?) \|", _sections()[name], re.MULTILINE)
    assert set(re.findall(r"--[a-z-]+", " ".join(cells))) == {flag for option in options for flag in option.opts}
