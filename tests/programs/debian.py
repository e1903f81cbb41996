"""Programs for tests in given versions: PgBouncer, nginx, HAProxy, Prometheus, PHP, Ruby, systemd; and the library
libfaketime.

An installed program of that version is preferred. Otherwise the program and its libraries are unpacked from Debian
packages into a directory such as ``build/pgbouncer-1.24``. That needs no root and installs nothing, so it works beside
other versions and releases.
"""

import fcntl
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

BUILD = Path(__file__).resolve().parents[2] / "build"
KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg"
LIBRARIES = ["libc6", "libzstd1"]
SYSTEMD = ["libsystemd0", "libcap2"]
BOOKWORM_SYSTEMD = [*SYSTEMD, "libgcrypt20", "libgpg-error0", "liblzma5", "liblz4-1"]
POOLER = ["libpam0g", "libaudit1", "libcap-ng0"]
SERVER = ["libcrypt1", "libpcre2-8-0", "zlib1g"]
TRACING = ["libopentracing1", "libstdc++6", "libgcc-s1"]
PHP = ["libargon2-1", "libedit2", "libbsd0", "libmd0", "libtinfo6", "libpcre2-8-0", "libsodium23", "libssl3t64"]
RUBY = ["libruby3.3", "libcrypt1", "libgmp10", "libssl3t64", "zlib1g"]
UNITS = [
    "libacl1",
    "libapparmor1",
    "libaudit1",
    "libcap-ng0",
    "libcrypt1",
    "libip4tc2",
    "libkmod2",
    "libmount1",
    "libblkid1",
]
UNITS += ["libpam0g", "libpcre2-8-0", "libseccomp2", "libselinux1", "libssl3", "libsystemd-shared", "zlib1g"]
SAYS = {
    "pgbouncer": r"PgBouncer (\S+)",
    "nginx": r"nginx/(\S+)",
    "haproxy": r"HAProxy version (\S+)",
    "prometheus": r"prometheus, version (\S+)",
    "promtool": r"promtool, version (\S+)",
    "php8.4": r"PHP (\S+)",
    "ruby3.3": r"ruby (\S+)",
    "systemd-analyze": r"systemd \d+ \((\S+)\)",
}
PACKAGES = {"php8.4": "php8.4-cli", "systemd-analyze": "systemd"}
"""The packages whose names differ from their programs."""
RELEASES = {
    "pgbouncer 1.18": ("bookworm", [*BOOKWORM_SYSTEMD, *POOLER, "libc-ares2", "libevent-2.1-7", "libssl3"]),
    "pgbouncer 1.24": ("trixie", [*SYSTEMD, *POOLER, "libcares2", "libevent-2.1-7t64", "libssl3t64", "zlib1g"]),
    "nginx 1.22": ("bookworm", [*SERVER, "libssl3"]),
    "nginx 1.26": ("trixie", [*SERVER, "libssl3t64"]),
    "haproxy 2.6": (
        "bookworm",
        [*SERVER, *BOOKWORM_SYSTEMD, *TRACING, "libopentracing-c-wrapper0", "libssl3", "liblua5.3-0"],
    ),
    "libfaketime 0.9": ("bookworm", []),
    "haproxy 3.0": (
        "trixie",
        [*SERVER, *SYSTEMD, *TRACING, "libopentracing-c-wrapper0t64", "libssl3t64", "liblua5.4-0", "libjemalloc2"],
    ),
    "prometheus 2.53": ("trixie", []),
    "promtool 2.53": ("trixie", []),
    "php8.4 8.4": ("trixie", [*PHP, "libxml2", "liblzma5", "zlib1g"]),
    "ruby3.3 3.3": ("trixie", RUBY),
    "systemd-analyze 252": ("bookworm", [*BOOKWORM_SYSTEMD, *UNITS]),
}
PROGRAM = """#!/bin/sh
root="$(dirname "$(readlink -f "$0")")"
for libraries in "$root"/usr/lib/*-linux-gnu "$root"/lib/*-linux-gnu; do
  for loader in "$libraries"/ld-linux-*.so.*; do
    [ -x "$loader" ] || continue
    set -- "$root/{path}" "$@"
    kind="$(basename "$libraries")"
    exec "$loader" --library-path "$root/lib/$kind:$root/usr/lib/$kind:$root/usr/lib/$kind/systemd" "$@"
  done
done
echo "no loader in $root" >&2
exit 1
"""


@cache
def debian_program(name: str, version: str) -> Path:
    """Returns the path of a program. Raises CalledProcessError or OSError if it cannot be found or fetched."""
    return installed(name, version) or fetched(name, version)


def debian_library(name: str, version: str) -> Path:
    """Returns the path of a library that programs of this machine can load. Raises as ``debian_program`` does."""
    [found] = fetched(name, version).parent.glob(f"usr/lib/*/*/{name}.so.*")
    return found


def installed(name: str, version: str) -> Path | None:
    """Returns the installed program if it has this version."""
    found = shutil.which(name, path=f"{os.environ.get('PATH', os.defpath)}:/usr/sbin")
    if found is None:
        return None
    done = subprocess.run(
        [found, "-v" if name in ("nginx", "haproxy") else "--version"], capture_output=True, text=True
    )
    said = re.search(SAYS[name], done.stdout + done.stderr)
    return Path(found) if said and said[1].startswith(f"{version}.") else None


def fetched(name: str, version: str) -> Path:
    """Returns the program from Debian packages, which are fetched once."""
    kept = BUILD / f"{name}-{version}"
    with held(kept.name):  # several test processes may fetch it
        if not kept.exists():
            staging = Path(tempfile.mkdtemp(dir=BUILD))
            try:
                unpack(name, version, staging)
                shutil.rmtree(kept, ignore_errors=True)
                staging.rename(kept)
            finally:
                shutil.rmtree(staging, ignore_errors=True)
    return kept / name


@contextmanager
def held(name: str) -> Iterator[None]:
    """Holds an exclusive lock with this name."""
    BUILD.mkdir(exist_ok=True)
    with (BUILD / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def unpack(name: str, version: str, root: Path) -> None:
    """Puts program and libraries below ``root``."""
    release, more = RELEASES[f"{name} {version}"]
    apt = configured(release)
    with tempfile.TemporaryDirectory() as place:
        run("apt-get", "download", "-qq", PACKAGES.get(name, name), *LIBRARIES, *more, apt=apt, cwd=place)
        for package in Path(place).glob("*.deb"):
            run("dpkg-deb", "--extract", str(package), str(root), apt=apt, cwd=place)
    for path in root.glob(f"usr/*bin/{name}"):  # a library has no program
        (root / name).write_text(PROGRAM.replace("{path}", str(path.relative_to(root))))
        (root / name).chmod(0o755)
    root.chmod(0o755)


def configured(release: str) -> Path:
    """Returns an apt configuration for only this release, with its package lists fetched."""
    kept = BUILD / f"apt-{release}"
    with held(kept.name):
        if not (kept / "apt.conf").exists():
            shutil.rmtree(kept, ignore_errors=True)
            made = configuration(kept, release)
            run("apt-get", "update", "-qq", apt=made, cwd=str(kept))
            made.rename(kept / "apt.conf")
    return kept / "apt.conf"


def configuration(place: Path, release: str) -> Path:
    """Writes an apt configuration for only this release, with its state in this directory."""
    for directory in ("lists/partial", "cache/archives/partial"):
        (place / directory).mkdir(parents=True)
    (place / "status").touch()
    (place / "sources").write_text(f"deb [signed-by={KEYS}] {mirror()} {release} main\n")
    written = place / "apt.conf.new"
    written.write_text(
        f'Dir::State "{place}";\nDir::State::lists "lists";\nDir::State::status "{place}/status";\n'
        f'Dir::Cache "{place}/cache";\nDir::Etc::SourceList "{place}/sources";\nDir::Etc::SourceParts "none";\n'
        'APT::Sandbox::User "";\n'
    )
    return written


def mirror() -> str:
    """Returns the address from which this machine gets Debian packages."""
    told = "$(REPO_URI) $(ORIGIN) $(LABEL) $(COMPONENT)"
    words = ["apt-get", "indextargets", "--format", told, "Created-By: Packages"]
    for line in subprocess.run(words, capture_output=True, text=True, check=True).stdout.splitlines():
        address, *whose = line.split()
        if whose == ["Debian", "Debian", "main"]:
            return address
    raise OSError("apt on this machine has no source of Debian packages")


def run(*words: str, apt: Path, cwd: str) -> None:
    """Runs one of apt's programs with this configuration."""
    environment = os.environ | {"APT_CONFIG": str(apt), "DEBIAN_FRONTEND": "noninteractive"}
    subprocess.run(words, check=True, stdout=sys.stderr, stdin=subprocess.DEVNULL, env=environment, cwd=cwd)
