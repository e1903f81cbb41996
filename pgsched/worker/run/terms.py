"""The terms of a delivery: a row's options over those of its client and queue, and the time that they leave it."""

from collections.abc import Callable

from pgsched.domain.execution import ClaimedExecution
from pgsched.domain.outcome import is_late
from pgsched.domain.policy import Options, parse_options, without_spans
from pgsched.errors import InvalidInput
from pgsched.worker.clock import DatabaseClock

DEFAULT = parse_options(None)


class Terms:
    """``defaults`` returns the default options of a client and of a partition's queue, in this order."""

    def __init__(self, clock: DatabaseClock, defaults: Callable[[str, int], tuple[bytes, ...]]) -> None:
        self._clock, self.defaults = clock, defaults

    def options_of(self, row: ClaimedExecution) -> Options:
        """The row's own options, completed by the defaults of its client and queue; without any, ``DEFAULT`` itself."""
        defaults = self.defaults(row.client_id, row.partition)
        if row.options is None and not defaults:
            return DEFAULT
        if row.plan == 0:  # a backfill is late by intent
            defaults = tuple(map(without_spans, defaults))
        return parse_options(row.options, *defaults)

    def time_left(self, row: ClaimedExecution, options: Options) -> tuple[float, bool]:
        """The seconds that an attempt may take now, and whether it must not begin."""
        age = self._clock.age(row.start)
        timeout = options.timeout_seconds
        if options.deadline is not None:
            timeout = min(timeout, options.deadline - age)
        return timeout, is_late(options, row.attempt, age)

    def is_late(self, row: ClaimedExecution) -> bool:
        """Whether the row is too late, so that its target will not be called."""
        try:
            return self.time_left(row, self.options_of(row))[1]
        except InvalidInput:
            return False
