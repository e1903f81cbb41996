"""Faults of the disks that hold the server's files."""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psycopg

from tests.faults.fault import SMALL_DISK, SMALL_LOG, fault
from tests.faults.site import Site

_BLOCK = 1 << 20


def _fill(disk: Path) -> Path:
    """Fills the disk. Returns the file that takes up the space."""
    filler = disk / "filler"
    try:
        with filler.open("wb", buffering=0) as file:
            while file.write(b"x" * _BLOCK) == _BLOCK:
                pass
    except OSError:
        os.sync()
    return filler


def _free(site: Site, filler: Path) -> None:
    """Frees the disk, and restarts the server if it stopped for lack of space."""
    filler.unlink()
    if site.server.exit_status is not None:
        site.server.restart()


@fault(seconds=15, within=5, needs=SMALL_DISK)
def disk_full(site: Site) -> Iterator[None]:
    """Data and log share the disk."""
    assert site.disk is not None
    filler = _fill(site.disk)
    yield
    _free(site, filler)


@fault(seconds=15, within=5, needs=SMALL_LOG)
def disk_of_the_log_full(site: Site) -> Iterator[None]:
    """The data has space, but the write-ahead log has none, so the server stops."""
    assert site.disk is not None
    with site.owner() as db:
        filler = _fill(site.disk)
        with suppress(psycopg.OperationalError):
            while True:  # until no segment is left
                db.execute("select pg_switch_wal(), pg_current_xact_id()")
    yield
    _free(site, filler)
