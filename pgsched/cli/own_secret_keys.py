"""The key that ``pgsched up`` creates for secrets, once per data directory, unless ``secret_keys`` is set.

The key is stored next to the files of the embedded PostgreSQL, so a copy of the directory contains both the key and the
secrets. To keep them apart, set ``secret_keys``.
"""

import os
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

from pgsched.own_files import write_own
from pgsched.sealing import new_key

_NAME = "secret-keys"


def kept_keys(data_dir: Path) -> str:
    """Returns the stored keys, or an empty string if there are none that this user can read."""
    try:
        return (data_dir / _NAME).read_text(encoding="utf-8").strip()
    except OSError:
        return ""


def own_secret_keys(data_dir: Path) -> str:
    """Returns the stored keys. If there are none, creates a key in a file that only its owner may read; if the package
    ``cryptography`` is not installed, returns an empty string instead. Raises OSError if the file cannot be written."""
    kept = kept_keys(data_dir)
    if kept or find_spec("cryptography") is None:
        return kept
    with suppress(FileExistsError):
        data_dir.mkdir(parents=True, exist_ok=True)
        _write(data_dir / _NAME, f"{new_key()}\n")
    return kept_keys(data_dir)


def _write(file: Path, text: str) -> None:
    """Writes the file atomically, because everything sealed with the key is lost without it."""
    draft = file.with_name(f"{file.name}.{os.getpid()}")
    try:
        write_own(draft, text)
        os.link(draft, file)
    finally:
        draft.unlink(missing_ok=True)
