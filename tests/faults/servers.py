"""The servers on which faults are caused, each with pgsched's tables."""

import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pgsched.embedded import EmbeddedPostgres
from pgsched.store.admin.migrate import migrate
from tests.conftest import tested_bin_dir
from tests.faults.clocks import clock
from tests.faults.fault import (
    CLOCK,
    EVENING,
    LAGGING_PAIR,
    OLD_TRANSACTIONS,
    PAIR,
    PROXY,
    SMALL_DISK,
    SMALL_LOG,
    WATCHES,
    Fault,
)
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
_FREEZES_EARLY = {
    "autovacuum_freeze_max_age": "100000",
    "vacuum_freeze_min_age": "1000",
    "autovacuum_naptime": "1s",
    "autovacuum_vacuum_cost_delay": "0",
    "log_autovacuum_min_duration": "0",
}
_ROOM, _ROOM_FOR_THE_LOG = "700m", "400m"
_BEFORE_MIDNIGHT = 300
_DAY = 86_400


@contextmanager
def place_for(fault: Fault, directory: Path, *, rate: int) -> Iterator[Site]:
    """Runs an installation on which this fault can be caused."""
    with ExitStack() as stack:
        server, more = stack.enter_context(_server_for(fault, directory))
        if fault.needs in (PAIR, LAGGING_PAIR):
            standby = standby_of(server, directory / "standby", tested_bin_dir(), synchronous=fault.needs == PAIR)
            more["standby"] = stack.enter_context(standby)
        if fault.needs == PROXY:
            more["proxy"] = stack.enter_context(closing(Proxy(urlsplit(server.url).port or 0)))
        if fault.needs == WATCHES:
            more["watches"] = [stack.enter_context(clock(at_once=False)) for _ in range(2)]
        yield stack.enter_context(site(server, directory / "site", rate=rate, **more))


@contextmanager
def _server_for(fault: Fault, directory: Path) -> Iterator[tuple[EmbeddedPostgres, dict[str, Any]]]:
    """Runs a server on which this fault can be caused. Yields it with further arguments of the site."""
    place = directory / "server"
    with ExitStack() as stack:
        if fault.needs in (CLOCK, EVENING):
            its = stack.enter_context(clock())
            its.step(int(-time.time() % _DAY) - _BEFORE_MIDNIGHT if fault.needs == EVENING else 0)
            yield stack.enter_context(serving(place, its.bin_dir)), {"clock": its}
        elif fault.needs == SMALL_DISK:
            disk = stack.enter_context(_small_disk(directory / "disk"))
            yield stack.enter_context(serving(disk / "server")), {"disk": disk}
        elif fault.needs == SMALL_LOG:
            disk = stack.enter_context(_small_log(place))
            yield stack.enter_context(serving(place)), {"disk": disk}
        else:
            more = _FREEZES_EARLY if fault.needs == OLD_TRANSACTIONS else {}
            yield stack.enter_context(serving(place, None, **more)), {}


@contextmanager
def _small_disk(place: Path, room: str = _ROOM, rights: str = "mode=755") -> Iterator[Path]:
    """Mounts a disk in memory, with space for the server and little more. Only root can mount it."""
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={room},{rights}", "none", str(place)], check=True)
    try:
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=True)


@contextmanager
def _small_log(server: Path) -> Iterator[Path]:
    """Puts a new server's log on a small disk; its other files stay where they are."""
    with EmbeddedPostgres(server, bin_dir=tested_bin_dir(), settings=_SETTINGS):
        pass
    place, first = server / "cluster" / "pg_wal", server / "first"
    owner = place.stat()
    place.rename(first)
    with _small_disk(place, _ROOM_FOR_THE_LOG, f"mode=700,uid={owner.st_uid},gid={owner.st_gid}") as disk:
        subprocess.run(["cp", "-a", f"{first}/.", str(disk)], check=True)
        yield disk


@contextmanager
def serving(directory: Path, bin_dir: Path | None = None, **settings: str) -> Iterator[EmbeddedPostgres]:
    """Runs one server in this directory."""
    with EmbeddedPostgres(directory, bin_dir=bin_dir or tested_bin_dir(), settings=_SETTINGS | settings) as running:
        migrate(running.url)
        yield running
