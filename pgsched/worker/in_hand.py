"""What this worker answers for: every claimed row that has not been settled or handed back."""

from collections.abc import Iterable, Sequence

from pgsched.domain.execution import Execution
from pgsched.signals import Signal


class InHand:
    """Rows by their ids. ``left`` tells of the ids of those that are out of hand, ``eased`` that there is more room."""

    def __init__(self) -> None:
        self.rows: dict[bytes, Execution] = {}
        self.unrecorded: set[bytes] = set()
        """Those that have ended, but cannot be recorded yet, since somebody has locked them. They take no room."""
        self.left: Signal[[Sequence[bytes]]] = Signal()
        self.eased: Signal[[]] = Signal()

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, rows: Iterable[Execution]) -> None:
        """A row that is claimed again is in hand under its new token alone."""
        self.rows.update((row.id, row) for row in rows)

    def has(self, row: Execution) -> bool:
        """Whether it is in hand, and under this token."""
        held = self.rows.get(row.id)
        return held is not None and held.token == row.token

    def leave(self, rows: Iterable[tuple[bytes, int]]) -> None:
        """These rows, each with its token, were settled or handed back."""
        gone = []
        for id, token in rows:
            held = self.rows.get(id)
            if held is not None and held.token == token:
                del self.rows[id]
                gone.append(id)
        self.unrecorded.difference_update(gone)
        self.left(gone)
        self.eased()

    def keep_unrecorded(self, ids: Iterable[bytes]) -> None:
        """These have ended, and wait to be recorded: what they carry is needed no more."""
        for id in ids:
            if id in self.rows and id not in self.unrecorded:
                self.rows[id] = self.rows[id]._replace(payload=None)
                self.unrecorded.add(id)
        self.eased()
