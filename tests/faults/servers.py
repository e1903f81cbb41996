"""The servers on which faults take place, each with pgsched's tables."""

import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pgsched.embedded import EmbeddedPostgres
from pgsched.store.admin.migrate import migrate
from tests.conftest import tested_bin_dir
from tests.faults.clocks import clock
from tests.faults.fault import CLOCK, LAGGING_PAIR, PAIR, PROXY, SMALL_DISK, Fault
from tests.faults.proxy import Proxy
from tests.faults.site import Site, site
from tests.replication.standby import standby_of

_SETTINGS = {
    "fsync": "off",  # the machine itself is not killed
    "shared_buffers": "128MB",
    "max_connections": "60",
    "max_notify_queue_pages": "64",
    "max_wal_size": "256MB",
}
_ROOM = "700m"


@contextmanager
def place_for(fault: Fault, directory: Path, *, rate: int) -> Iterator[Site]:
    """An installation on which this fault can be made."""
    with ExitStack() as stack:
        enter, bin_dir, place, more = stack.enter_context, None, directory / "server", dict[str, Any]()
        if fault.needs == CLOCK:
            more["clock"] = enter(clock())
            bin_dir = more["clock"].bin_dir
        if fault.needs == SMALL_DISK:
            more["disk"] = enter(_small_disk(directory / "disk"))
            place = more["disk"] / "server"
        server = enter(serving(place, bin_dir))
        if fault.needs in (PAIR, LAGGING_PAIR):
            synchronous = fault.needs == PAIR
            more["standby"] = enter(
                standby_of(server, directory / "standby", tested_bin_dir(), synchronous=synchronous)
            )
        if fault.needs == PROXY:
            more["proxy"] = enter(closing(Proxy(urlsplit(server.url).port or 0)))
        yield enter(site(server, directory / "site", rate=rate, **more))


@contextmanager
def _small_disk(place: Path) -> Iterator[Path]:
    """One in memory, with room for the server and little more. Only root may mount it."""
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={_ROOM},mode=755", "none", str(place)], check=True)
    try:
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=True)


@contextmanager
def serving(directory: Path, bin_dir: Path | None = None, **settings: str) -> Iterator[EmbeddedPostgres]:
    """One server, in this directory."""
    with EmbeddedPostgres(directory, bin_dir=bin_dir or tested_bin_dir(), settings=_SETTINGS | settings) as running:
        migrate(running.url)
        yield running
