"""Prints the directory of PostgreSQL 15's programs, for the tests on the oldest supported version.

An installed one is preferred. Otherwise the programs are taken out of a wheel that carries PostgreSQL 15 into
``build/postgresql-15``: that needs no root, and the wheel is not installed, so it does not matter for which
Python it was made. Exits with 1 and says why where there is no such wheel for this machine.

    PATH="$(python scripts/postgresql15.py):$PATH" PGSCHED_TEST_POSTGRES=15 pytest
"""

import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from pgsched.embedded import find_bin_dir  # noqa: E402

KEPT = ROOT / "build" / "postgresql-15"
PROGRAMS = KEPT / "pgserver" / "pginstall" / "bin"
WHEEL = ["pgserver<0.1", "--no-deps", "--only-binary=:all:", "--python-version=3.11", "--abi=cp311"]


def unpack(wheel: Path) -> None:
    """Puts the wheel's files in place, whole or not at all."""
    KEPT.parent.mkdir(exist_ok=True)
    staging = Path(tempfile.mkdtemp(dir=KEPT.parent))
    staging.chmod(0o755)
    zipfile.ZipFile(wheel).extractall(staging)
    for program in (staging / PROGRAMS.relative_to(KEPT)).iterdir():
        program.chmod(0o755)
    shutil.rmtree(KEPT, ignore_errors=True)
    staging.rename(KEPT)


def download() -> None:
    """Fetches the wheel with pip and unpacks it."""
    with tempfile.TemporaryDirectory() as place:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--dest", place, *WHEEL]
        subprocess.run(command, check=True, stdout=sys.stderr)
        unpack(next(Path(place).glob("*.whl")))


def main() -> int:
    """Finds or fetches; the exit status."""
    found = find_bin_dir(15)
    if found is None and not (PROGRAMS / "postgres").exists():
        try:
            download()
        except (subprocess.CalledProcessError, OSError) as error:
            sys.stderr.write(f"PostgreSQL 15 is not installed and could not be fetched: {error}\n")
            return 1
    sys.stdout.write(f"{found or PROGRAMS}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
