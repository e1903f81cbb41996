"""Faults of the worker processes, and harm done to them by handlers."""

import resource
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from tests.faults.fault import fault
from tests.faults.site import LEASE, Site, signalled

_LOST = "the worker was lost"
_UNLIMITED = resource.RLIM_INFINITY, resource.RLIM_INFINITY
_LITTLE = 4 << 20
_HARM = "select pgsched.schedule(%s, %s::jsonb, client => 'limited', options => %s::jsonb)"


@fault(promised="repeats of executions in flight", seconds=0, within=2, repeats=_LOST)
def worker_killed(site: Site) -> Iterator[None]:
    with signalled([site.worker()], signal.SIGKILL, signal.SIGKILL):
        yield


@fault(promised="repeats of executions in flight, within the lease", seconds=LEASE + 6, repeats=_LOST)
def worker_frozen(site: Site) -> Iterator[None]:
    with signalled([site.worker()], signal.SIGSTOP, signal.SIGCONT):
        yield


def _harm(site: Site, handler: str, payload: str, options: str = '{"timeout": "4s", "max_attempts": 2}') -> None:
    with site.owner() as db:
        db.execute(_HARM, [f"python:{handler}", payload, options])


@fault(promised="repeats of begun executions if the worker is lost", seconds=8, repeats=_LOST)
def handler_blocks(site: Site) -> Iterator[None]:
    _harm(site, "mallory_blocks", '{"seconds": 3}')
    yield


@fault(promised="it fails in isolation; others are repeated", seconds=8, repeats=_LOST)
def handler_exits(site: Site) -> Iterator[None]:
    _harm(site, "mallory_exits", "1", '{"max_attempts": 3}')
    yield


@fault(promised="it times out; others are repeated", seconds=8, repeats=_LOST)
def handler_never_ends(site: Site) -> Iterator[None]:
    _harm(site, "mallory_waits", "1")
    yield


@fault()
def result_of_50_megabytes(site: Site) -> Iterator[None]:
    for _ in range(4):
        _harm(site, "large", "1")
    yield


@fault(promised="repeats of executions in flight if the worker is lost", repeats=_LOST)
def worker_out_of_memory(site: Site) -> Iterator[None]:
    """A worker process gets barely more memory than it uses, and its handlers allocate a lot."""
    pid = site.worker()
    size = int(Path(f"/proc/{pid}/statm").read_text().split()[0]) * resource.getpagesize()
    resource.prlimit(pid, resource.RLIMIT_AS, (size + _LITTLE, _UNLIMITED[1]))
    for _ in range(4):
        _harm(site, "large", "1")
    yield
    with suppress(ProcessLookupError):
        resource.prlimit(pid, resource.RLIMIT_AS, _UNLIMITED)
