"""Which due rows a worker's claims read: gates hold some clients back, some clients are claimed from apart, and some
targets only other workers can deliver, or none."""

from dataclasses import replace

from pgsched.store.live.row_filter import ALL_ROWS, RowFilter
from pgsched.worker.claim.fairness import Fairness
from pgsched.worker.gates.admission import Admission
from pgsched.worker.gates.capabilities import Capabilities
from pgsched.worker.run.shares import Shares


class Selection:
    """Answers for the next claim or look, as things stand at that moment."""

    def __init__(self, admission: Admission, fairness: Fairness, capabilities: Capabilities, shares: Shares) -> None:
        self._admission, self._fairness, self._capabilities = admission, fairness, capabilities
        self._shares = shares

    @property
    def row_filter(self) -> RowFilter:
        """The rows of all clients that are not claimed from apart and do not have too many rows waiting here, without
        those that a gate would hold."""
        held, apart = self._admission.passed_over, self._fairness.clients
        if self._shares.crowded:
            apart = tuple({*apart, *self._shares.crowded})
        left, missed = self._capabilities.left, self._capabilities.missed
        if not (held or apart or left or missed):
            return ALL_ROWS
        return RowFilter(held=held, apart=apart, left=left, missed=missed)

    @property
    def latest(self) -> RowFilter:
        """The same rows as ``row_filter``, those that are due last before the others."""
        return replace(self.row_filter, latest_first=True)

    def only(self, client: str) -> RowFilter:
        """The rows of one client."""
        return RowFilter(only=client, left=self._capabilities.left, missed=self._capabilities.missed)

    @property
    def is_partial(self) -> bool:
        """Whether claims read past some due rows."""
        return bool(self._admission.passed_over or self._capabilities.left or self._capabilities.missed)

    @property
    def passed_over(self) -> frozenset[str]:
        """The clients and capabilities whose due rows claims read past until they are held; there may be any number."""
        return frozenset((*self._admission.passed_over, *self._capabilities.missed))
