"""A clock for the sweeper's property tests that stands still until a test moves it."""

from collections.abc import Iterator
from contextlib import contextmanager
from unittest import mock

from pgsched import service
from pgsched.worker.claim import sweeper


class Clock:
    now = 0.0

    def monotonic(self) -> float:
        return self.now


CLOCK = Clock()


@contextmanager
def stopped_clock() -> Iterator[None]:
    """Let services and sweeps read this clock instead of the time."""
    with mock.patch.object(service, "time", CLOCK), mock.patch.object(sweeper, "time", CLOCK):
        yield
