"""The output of ``pgsched jobs import``, parsed as ``pgsched apply`` parses it."""

import tomllib
from pathlib import Path
from typing import Any

from pgsched.domain.declared_job import declared_in
from tests.cli.conftest import Run


def declared(run: Run, *words: str, given: str) -> tuple[list[dict[str, Any]], list[str]]:
    """Returns the jobs, and the messages about entries that were left out."""
    Path("there").write_text(given, encoding="utf-8")
    answer = run("jobs", "import", *words, "there")
    assert answer.exit_code == 0, answer.stderr
    tables: list[dict[str, Any]] = tomllib.loads(answer.stdout)["jobs"]
    declared_in(tables, "there")
    return tables, answer.stderr.splitlines()
