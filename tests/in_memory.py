"""Whether the machine has room for the files of tests in its memory."""

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

_PLACE = Path("/dev/shm")
_NEEDED = 8 * 2**30
"""Bytes: a run of four processes has needed a bit more than two gigabytes, and the tests need memory themselves."""
_MEMORY = Path("/proc/meminfo")
_LIMITS = Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes")


def place_in_memory() -> str | None:
    """A directory in memory; None where there is none, or too little room, or where programs may not be run from it."""
    if not os.access(_PLACE, os.W_OK) or os.statvfs(_PLACE).f_flag & os.ST_NOEXEC:
        return None
    return str(_PLACE) if min(_free()) >= _NEEDED else None


def _free() -> Iterator[int]:
    """The bytes that each who sets a limit leaves; what a control group has used already is mostly cache."""
    yield shutil.disk_usage(_PLACE).free
    yield from (int(found) * 1024 for found in re.findall(r"MemAvailable: +(\d+)", _MEMORY.read_text()))
    yield from (int(most) for limit in _LIMITS if limit.exists() and (most := limit.read_text().strip()).isdigit())
