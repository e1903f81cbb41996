"""Decides which due rows a worker's claims take.

Claims skip the rows of clients whose gate holds executions, of clients with their own stream, and of targets that this
worker cannot deliver. The sweeper reads the skipped rows (``sweeper``).
"""

from dataclasses import replace

from pgsched.store.live.row_filter_and_next_due import ALL_ROWS, RowFilter
from pgsched.worker.claim.fairness import Fairness
from pgsched.worker.gates.admission import Admission
from pgsched.worker.gates.capabilities import Capabilities
from pgsched.worker.run.client_shares import Shares


class RowFilters:
    """The current filters, for the next claim or look."""

    def __init__(self, admission: Admission, fairness: Fairness, capabilities: Capabilities, shares: Shares) -> None:
        self._admission, self._fairness, self._capabilities = admission, fairness, capabilities
        self._shares = shares

    @property
    def is_ready(self) -> bool:
        """Whether clients' settings, gates, and the other workers' capabilities have been loaded."""
        return self._fairness.known.loaded and self._admission.known_gates.loaded and self._capabilities.known

    @property
    def held(self) -> tuple[str, ...]:
        """The clients whose due rows claims skip because their gates hold executions."""
        return self._admission.clients_held if self._admission.holding else ()

    @property
    def crowded(self) -> frozenset[str]:
        """The clients whose rows are not claimed, because many of their rows already wait for lanes in this worker."""
        return self._shares.crowded

    @property
    def row_filter(self) -> RowFilter:
        """The rows of all clients that have no stream and are not crowded, except those that a gate would hold."""
        held, apart = self.held, tuple(self._fairness.apart)
        if self.crowded:
            apart = tuple({*apart, *self.crowded})
        left, missed = self._capabilities.left, self._capabilities.missed
        if not (held or apart or left or missed):
            return ALL_ROWS
        return RowFilter(held=held, apart=apart, left=left, missed=missed)

    @property
    def latest(self) -> RowFilter:
        """The same rows as ``row_filter``, but in reverse order: the rows that became due last come first."""
        return replace(self.row_filter, latest_first=True)

    def only(self, client: str) -> RowFilter:
        """The rows of one client."""
        return RowFilter(only=client, left=self._capabilities.left, missed=self._capabilities.missed)

    @property
    def is_partial(self) -> bool:
        """Whether claims skip some due rows."""
        return bool(self.held or self._capabilities.left or self._capabilities.missed)

    @property
    def passed_over(self) -> frozenset[str]:
        """The clients and capabilities whose due rows, which may be very many, are skipped until they are held."""
        return frozenset((*self.held, *self._capabilities.missed))
