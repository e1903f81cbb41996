"""Serves the metrics page of a worker command's processes."""

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
    """The URL of the metrics page, and the directory in which processes write their counts."""

    url: str
    directory: Path


@contextmanager
def serving(address: str) -> Iterator[MetricsPage]:
    """Serves the page at ``host:port``, in a thread. Port 0 picks a free port.

    Raises InvalidSettings if the process cannot listen on the address.
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
