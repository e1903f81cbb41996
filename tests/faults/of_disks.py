"""What happens to the disk on which the server has its files."""

import os
from collections.abc import Iterator

from tests.faults.fault import SMALL_DISK, fault
from tests.faults.site import Site

_BLOCK = 1 << 20


@fault(promised="nothing twice", seconds=15, within=5, needs=SMALL_DISK)
def disk_full(site: Site) -> Iterator[None]:
    """Data and log share it. Where the server ends for that it is started again once there is room."""
    assert site.disk is not None
    filler = site.disk / "filler"
    try:
        with filler.open("wb", buffering=0) as file:
            while file.write(b"x" * _BLOCK) == _BLOCK:
                pass
    except OSError:
        os.sync()
    yield
    filler.unlink()
    if site.server.exit_status is not None:
        site.server.restart()
