"""On which terms a row is delivered: its options over its client's and queue's, and how much time they leave it."""

from collections.abc import Callable

from pgsched.domain.execution import Execution
from pgsched.domain.outcome import is_late
from pgsched.domain.policy import Options, parse_options, without_spans
from pgsched.errors import InvalidInput
from pgsched.worker.clock import DatabaseClock

DEFAULT = parse_options(None)


class Terms:
    """``defaults`` answers with the options of a client and a partition's queue, the nearest first."""

    def __init__(self, clock: DatabaseClock, defaults: Callable[[str, int], tuple[bytes, ...]]) -> None:
        self._clock, self.defaults = clock, defaults

    def options_of(self, row: Execution) -> Options:
        """Its own, and where they are silent the defaults of its client and queue; without any ``DEFAULT`` itself."""
        defaults = self.defaults(row.client_id, row.partition)
        if row.options is None and not defaults:
            return DEFAULT
        if row.plan == 0:  # a backfill is late by intent
            defaults = tuple(map(without_spans, defaults))
        return parse_options(row.options, *defaults)

    def time_left(self, row: Execution, options: Options) -> tuple[float, bool]:
        """Seconds that an attempt may take now, and whether it must not begin."""
        age = self._clock.age(row.scheduled_for)
        timeout = options.timeout_seconds
        if options.deadline is not None:
            timeout = min(timeout, options.deadline - age)
        return timeout, is_late(options, row.attempt, age)

    def is_late(self, row: Execution) -> bool:
        """Whether its time is over, so that nobody will be called for it."""
        try:
            return self.time_left(row, self.options_of(row))[1]
        except InvalidInput:
            return False
