"""The key that ``pgsched up`` creates for secrets, once per data directory, unless ``secret_keys`` is set.

It is stored next to the files of the embedded PostgreSQL, so a copy of the directory contains both. Set ``secret_keys``
to keep them apart.
"""

import os
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

from pgsched.own_files import write_own
from pgsched.sealing import new_key

_NAME = "secret-keys"


def kept_keys(data_dir: Path) -> str:
    """Returns the stored keys, or an empty string if there are none that this user may read."""
    try:
        return (data_dir / _NAME).read_text(encoding="utf-8").strip()
    except OSError:
        return ""


def own_secret_keys(data_dir: Path) -> str:
    """Returns the stored keys. If there are none, creates one that only its owner may read, or returns an empty string
    if ``cryptography`` is not installed. Raises OSError."""
    kept = kept_keys(data_dir)
    if kept or find_spec("cryptography") is None:
        return kept
    with suppress(FileExistsError):
        data_dir.mkdir(parents=True, exist_ok=True)
        _write(data_dir / _NAME, f"{new_key()}\n")
    return kept_keys(data_dir)


def _write(file: Path, text: str) -> None:
    """Writes the file atomically: if a key is lost, everything sealed with it is lost."""
    draft = file.with_name(f"{file.name}.{os.getpid()}")
    try:
        write_own(draft, text)
        os.link(draft, file)
    finally:
        draft.unlink(missing_ok=True)
