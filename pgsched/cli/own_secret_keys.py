"""The key that ``pgsched up`` makes for secrets, once for each data directory, unless ``secret_keys`` is set.

It is kept beside the files of the embedded PostgreSQL, and a copy of the directory has both. Who sets ``secret_keys``
keeps them apart.
"""

import os
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

from pgsched.own_files import write_own
from pgsched.sealing import new_key

_NAME = "secret-keys"


def kept_keys(data_dir: Path) -> str:
    """What is kept there; nothing where there is nothing that this user may read."""
    try:
        return (data_dir / _NAME).read_text(encoding="utf-8").strip()
    except OSError:
        return ""


def own_secret_keys(data_dir: Path) -> str:
    """What is kept there, and where there is nothing a new key, which its owner alone may read; nothing where the
    library is not installed that could use it. Raises OSError."""
    kept = kept_keys(data_dir)
    if kept or find_spec("cryptography") is None:
        return kept
    with suppress(FileExistsError):
        data_dir.mkdir(parents=True, exist_ok=True)
        _write(data_dir / _NAME, f"{new_key()}\n")
    return kept_keys(data_dir)


def _write(file: Path, text: str) -> None:
    """Never half: a key that was lost has lost what was sealed with it."""
    draft = file.with_name(f"{file.name}.{os.getpid()}")
    try:
        write_own(draft, text)
        os.link(draft, file)
    finally:
        draft.unlink(missing_ok=True)
