"""The address at which a worker command shows what its processes have counted."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from prometheus_client import start_http_server

from pgsched.errors import InvalidSettings
from pgsched.metrics.exposition import registry_of
from pgsched.metrics.files import Reading


@dataclass(frozen=True, slots=True)
class MetricsPage:
    """The page of metrics, and the directory into which processes count for it."""

    url: str
    directory: Path


@contextmanager
def serving(address: str) -> Iterator[MetricsPage]:
    """Shows at ``host:port``, in a thread, what processes count. Port 0 takes a free one.

    Raises InvalidSettings where the address cannot be listened on.
    """
    host, _, port = address.rpartition(":")
    with tempfile.TemporaryDirectory(prefix="pgsched-metrics-", ignore_cleanup_errors=True) as name:
        registry = registry_of(Reading(Path(name)).read)
        try:
            server, thread = start_http_server(int(port), host.strip("[]"), registry)
        except (OSError, OverflowError) as error:
            raise InvalidSettings(
                f"metrics: cannot listen on {address}: {getattr(error, 'strerror', None) or error}"
            ) from error
        try:
            yield MetricsPage(f"http://{host}:{server.server_port}/metrics", Path(name))
        finally:
            server.shutdown()
            server.server_close()
            thread.join()
