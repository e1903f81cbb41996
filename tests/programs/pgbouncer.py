"""A PgBouncer of a version, for the tests through real poolers.

An installed one of that version is preferred. Otherwise the program and the libraries it needs are taken out of the
packages of the Debian release that has it, into ``build/pgbouncer-1.24``: that needs no root, and nothing is
installed, so this machine may run another.
"""

import fcntl
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

BUILD = Path(__file__).resolve().parents[2] / "build"
KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg"
LIBRARIES = ["libc6", "libsystemd0", "libpam0g", "libcap2", "libaudit1", "libcap-ng0", "libzstd1"]
RELEASES = {
    "1.18": (
        "bookworm",
        ["libc-ares2", "libevent-2.1-7", "libssl3", "libgcrypt20", "libgpg-error0", "liblzma5", "liblz4-1"],
    ),
    "1.24": ("trixie", ["libcares2", "libevent-2.1-7t64", "libssl3t64", "zlib1g"]),
}
PROGRAM = """#!/bin/sh
root="$(dirname "$(readlink -f "$0")")"
for libraries in "$root"/usr/lib/*-linux-gnu "$root"/lib/*-linux-gnu; do
  for loader in "$libraries"/ld-linux-*.so.*; do
    [ -x "$loader" ] || continue
    exec "$loader" --library-path "$root/lib/$(basename "$libraries"):$root/usr/lib/$(basename "$libraries")" \\
      "$root/usr/sbin/pgbouncer" "$@"
  done
done
echo "no loader in $root" >&2
exit 1
"""


def pgbouncer_program(version: str) -> Path:
    """Its path. Raises CalledProcessError or OSError where it is neither installed nor to be had."""
    return installed(version) or fetched(version)


def installed(version: str) -> Path | None:
    """One on this machine, if it is of this version."""
    found = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', os.defpath)}:/usr/sbin")
    if found is None:
        return None
    said = subprocess.run([found, "--version"], capture_output=True, text=True, check=False).stdout
    return Path(found) if re.match(rf"PgBouncer {re.escape(version)}\.", said) else None


def fetched(version: str) -> Path:
    """One from the packages, which are fetched once."""
    BUILD.mkdir(exist_ok=True)
    kept = BUILD / f"pgbouncer-{version}"
    with (BUILD / f"pgbouncer-{version}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # tests ask for it in several processes
        if not (kept / "pgbouncer").exists():
            staging = Path(tempfile.mkdtemp(dir=BUILD))
            try:
                unpack(version, staging)
                shutil.rmtree(kept, ignore_errors=True)
                staging.rename(kept)
            finally:
                shutil.rmtree(staging, ignore_errors=True)
    return kept / "pgbouncer"


def unpack(version: str, root: Path) -> None:
    """Puts program and libraries below ``root``."""
    release, more = RELEASES[version]
    with tempfile.TemporaryDirectory() as place:
        apt = configuration(Path(place), release)
        run("apt-get", "update", "-qq", apt=apt, cwd=place)
        run("apt-get", "download", "-qq", "pgbouncer", *LIBRARIES, *more, apt=apt, cwd=place)
        for package in Path(place).glob("*.deb"):
            run("dpkg-deb", "--extract", str(package), str(root), apt=apt, cwd=place)
    (root / "pgbouncer").write_text(PROGRAM)
    (root / "pgbouncer").chmod(0o755)
    root.chmod(0o755)


def configuration(place: Path, release: str) -> Path:
    """One for apt that knows this release alone, from where this machine has its own, and keeps its state here."""
    for directory in ("lists/partial", "cache/archives/partial"):
        (place / directory).mkdir(parents=True)
    (place / "status").touch()
    (place / "sources").write_text(f"deb [signed-by={KEYS}] {mirror()} {release} main\n")
    configured = place / "apt.conf"
    configured.write_text(
        f'Dir::State "{place}";\nDir::State::lists "lists";\nDir::State::status "{place}/status";\n'
        f'Dir::Cache "{place}/cache";\nDir::Etc::SourceList "{place}/sources";\nDir::Etc::SourceParts "none";\n'
        'APT::Sandbox::User "";\n'
    )
    return configured


def mirror() -> str:
    """Where this machine has Debian's packages from."""
    told = "$(REPO_URI) $(ORIGIN) $(LABEL) $(COMPONENT)"
    words = ["apt-get", "indextargets", "--format", told, "Created-By: Packages"]
    for line in subprocess.run(words, capture_output=True, text=True, check=True).stdout.splitlines():
        address, *whose = line.split()
        if whose == ["Debian", "Debian", "main"]:
            return address
    raise OSError("this machine has no packages of Debian")


def run(*words: str, apt: Path, cwd: str) -> None:
    """Runs one of apt's programs with this configuration."""
    environment = os.environ | {"APT_CONFIG": str(apt), "DEBIAN_FRONTEND": "noninteractive"}
    subprocess.run(words, check=True, stdout=sys.stderr, stdin=subprocess.DEVNULL, env=environment, cwd=cwd)
