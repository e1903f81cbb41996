"""Checks whether the machine has enough free memory for the files of tests."""

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

_PLACE = Path("/dev/shm")
_NEEDED = 8 * 2**30
"""Bytes: a run with four processes needed slightly more than two gigabytes, and the tests themselves need memory."""
_MEMORY = Path("/proc/meminfo")
_LIMITS = Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes")


def place_in_memory() -> str | None:
    """Returns a directory in memory; None if there is none, if it has too little room, or if programs cannot run from
    it."""
    if not os.access(_PLACE, os.W_OK) or os.statvfs(_PLACE).f_flag & os.ST_NOEXEC:
        return None
    return str(_PLACE) if min(_free()) >= _NEEDED else None


def _free() -> Iterator[int]:
    """Yields the free bytes under each limit. What a control group has already used is mostly cache."""
    yield shutil.disk_usage(_PLACE).free
    yield from (int(found) * 1024 for found in re.findall(r"MemAvailable: +(\d+)", _MEMORY.read_text()))
    yield from (int(most) for limit in _LIMITS if limit.exists() and (most := limit.read_text().strip()).isdigit())
