"""Extracts the last release's package and migrations from the repository into a separate directory."""

import subprocess
from dataclasses import dataclass
from pathlib import Path

import pgsched

_ROOT = Path(__file__).parents[1]
_PARTS = ("pgsched", "migrations")


@dataclass(frozen=True, slots=True)
class Release:
    """The release to compare with. ``commit`` is None for the code under test; ``name`` describes it."""

    name: str
    commit: str | None

    def __str__(self) -> str:
        return self.name

    def unpacked(self, directory: Path) -> Path:
        """Returns the directory from which its package can be imported."""
        if self.commit is None:
            return Path(pgsched.__file__).parents[1]
        archive = _git("archive", "--format", "tar", self.commit, *_PARTS)
        assert archive is not None, self
        subprocess.run(["tar", "-x", "-C", directory], input=archive, check=True)
        return directory


def last_release() -> Release:
    """Returns the newest tag before HEAD. Without tags, as before the first release or in a clone without them, returns
    HEAD; without a repository, the installed package."""
    top = _git("rev-parse", "--show-toplevel")
    if top is None or Path(top.decode().strip()).resolve() != _ROOT.resolve():
        return Release("itself, as this is no repository", None)
    tags = _git("tag", "--list", "v[0-9]*", "--merged", "HEAD", "--no-contains", "HEAD", "--sort=-creatordate") or b""
    if names := tags.decode().split():
        return Release(names[0], names[0])
    return Release("HEAD, as no tag is before it", "HEAD")


def _git(*words: str) -> bytes | None:
    """Returns git's output, or None if it fails or is not installed."""
    try:
        done = subprocess.run(["git", "-C", _ROOT, *words], capture_output=True, check=False)
    except FileNotFoundError:
        return None
    return done.stdout if done.returncode == 0 else None
