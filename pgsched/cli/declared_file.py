"""Files that declare jobs, as TOML or YAML."""

import tomllib
from collections.abc import Sequence
from pathlib import Path

from pgsched.domain.declared_job import DeclaredJob, declared_in
from pgsched.errors import InvalidInput
from pgsched.extras import extra
from pgsched.settings import load

_YAML = frozenset({".yaml", ".yml"})


def jobs_of(file: Path) -> Sequence[DeclaredJob]:
    """The jobs of a file. One of TOML may have settings beside them. Raises InvalidInput and InvalidSettings."""
    if file.suffix.lower() in _YAML:
        with extra("server", by="YAML"):
            from pgsched.cli.declared_yaml import jobs_in
        return declared_in(jobs_in(file), str(file))
    load(flags={}, environment={}, file=file)
    tables = tomllib.loads(file.read_text(encoding="utf-8-sig")).get("jobs")
    if tables is None:
        raise InvalidInput(f"{file} declares no jobs: write [[jobs]] above each, or jobs = [] for none")
    return declared_in(tables, str(file))
