"""How far somebody has read the ends of executions, in the order in which they became visible.

A transaction that is told of by its number may commit long after others with higher numbers, and an instant that was
written says nothing of when it could be seen. So a reader remembers what PostgreSQL itself judges visibility by: a
snapshot, which names the transactions that were open when it was taken. What a later one sees and this one does not
has become visible in between; a transaction that stays open holds up nobody's reading but that of its own rows.

Between two snapshots the rows are read by transaction and id. ``Position`` is what a reader has after any one of them.
"""

import re
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from typing import Self
from uuid import UUID

from pgsched.errors import InvalidInput

MOST_OPEN = 1000
"""Open transactions that a snapshot names. Of more the lowest are taken, and what comes after them is read later."""
LONGEST = 16_000
"""Characters of a position's text; one has about 60."""
_TEXT = re.compile(
    r"([0-9a-f]{1,9})\.([0-9a-f]{1,9})\.([0-9a-f]{1,15})\.((?:[0-9a-f]{1,15}(?:-[0-9a-f]{1,15}){0,1999})?)\.(?:([0-9a-f]{1,15})\.([0-9a-f]{32}))?"
)
_BEFORE = timedelta(days=1)
_LAST = 2**36  # seconds: later than an instant can be that one counts from
_HOW = "not the id of an event: send back the id of the last one that was read, or ask without it"


@dataclass(frozen=True, slots=True)
class TransactionSnapshot:
    """Sees the transactions below ``xmax`` but for those that are ``open``, in ascending order."""

    xmax: int
    open: tuple[int, ...] = ()

    @classmethod
    def parse(cls, text: str) -> Self:
        """PostgreSQL's ``xmin:xmax:xip,…``; cut short where more are open than are named."""
        _, xmax, xip = text.split(":")
        found = sorted(map(int, filter(None, xip.split(","))))
        return (
            cls(int(xmax), tuple(found)) if len(found) <= MOST_OPEN else cls(found[MOST_OPEN], tuple(found[:MOST_OPEN]))
        )

    def sees(self, transaction: int) -> bool:
        return transaction < self.xmax and transaction not in self.open

    def within(self, other: Self) -> bool:
        """Whether the other sees all that this one sees."""
        return self.xmax <= other.xmax and all(one in self.open for one in other.open if one < self.xmax)

    def advanced(self, to: Self, below: int) -> Self:
        """What sees all that this one sees, and of the transactions below a number those that ``to`` sees."""
        still = tuple(one for one in self.open if one >= below or not to.sees(one))
        return type(self)(max(self.xmax, below), still + tuple(one for one in to.open if self.xmax <= one < below))

    def with_one_more(self, transaction: int) -> Self:
        """What sees this transaction as well, which is open or the next."""
        if transaction == self.xmax:
            return type(self)(transaction + 1, self.open)
        return type(self)(self.xmax, tuple(one for one in self.open if one != transaction))


@dataclass(frozen=True, slots=True, kw_only=True)
class VisibilityHorizon:
    """What can be read at an instant of the database; ``newest`` is the next number of a transaction."""

    seen: TransactionSnapshot
    newest: int
    at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """All was read that ``seen`` sees, and of ``transaction``, which it does not see, what has an id up to ``id``.

    ``at`` is when ``seen`` was taken, and those that it has open began at ``since`` or later, both in seconds.
    """

    seen: TransactionSnapshot
    since: int
    at: int
    transaction: int | None = None
    id: UUID | None = None

    @classmethod
    def of(cls, horizon: VisibilityHorizon) -> Self:
        return cls(seen=horizon.seen, since=horizon.at, at=horizon.at)

    @classmethod
    def beginning(cls, at: datetime) -> Self:
        """Nothing was read; what ended before this instant is not wanted."""
        return cls(seen=TransactionSnapshot(0), since=int(at.timestamp()), at=int(at.timestamp()))

    @property
    def earliest(self) -> datetime:
        """No row that is still to be read has ended before: rows carry the instant at which their transaction began,
        which may be before it had a number."""
        return datetime.fromtimestamp(self.since, UTC) - min(_BEFORE, timedelta(seconds=self.since))

    @property
    def place(self) -> tuple[TransactionSnapshot, int | None, UUID | None]:
        """What was read, whenever that was: the same for all who have read the same."""
        return self.seen, self.transaction, self.id

    def check(self, horizon: VisibilityHorizon) -> None:
        """Raises InvalidInput for one that this database has not given out."""
        if self.seen.xmax > horizon.newest:
            raise InvalidInput(
                "this id of an event is not of this database, or of one before it was restored: ask without it, and "
                "look up in /v1/executions what has ended meanwhile"
            )

    def is_within(self, horizon: VisibilityHorizon) -> bool:
        """Whether all that was read can be seen there."""
        partly = self.transaction is None or horizon.seen.sees(self.transaction)
        return partly and self.seen.within(horizon.seen)

    def late(self, horizon: VisibilityHorizon) -> list[int]:
        """The transactions below the snapshot's that have ended since it was taken, and the one that is partly read."""
        ended = {one for one in self.seen.open if horizon.seen.sees(one)}
        return sorted(ended | ({self.transaction} if self.transaction is not None else set()))

    def after(self, horizon: VisibilityHorizon, transaction: int, id: UUID) -> Self:
        """Where one stands after a row of what can be read there."""
        seen = self.seen if transaction == self.transaction else self._whole().advanced(horizon.seen, transaction)
        return replace(self, seen=seen, transaction=transaction, id=id)

    def up_to(self, horizon: VisibilityHorizon, below: int) -> Self:
        """Where one stands after all of the rows of transactions below a number that can be read there."""
        seen = self._whole().advanced(horizon.seen, below)
        if below < horizon.seen.xmax:
            return replace(self, seen=seen, transaction=None, id=None)
        # Where the horizon names as many as it may, those above them may have begun before it was taken.
        at = self.at if len(horizon.seen.open) >= MOST_OPEN else horizon.at
        since = self.since if any(one < self.seen.xmax for one in seen.open) else self.at if seen.open else at
        return replace(self, seen=seen, since=min(since, at), at=at, transaction=None, id=None)

    def _whole(self) -> TransactionSnapshot:
        return self.seen if self.transaction is None else self.seen.with_one_more(self.transaction)

    def __str__(self) -> str:
        steps = [one - before for before, one in zip((0, *self.seen.open), self.seen.open, strict=False)]
        partly = "" if self.transaction is None or self.id is None else f"{self.transaction:x}.{self.id.hex}"
        opened = "-".join(f"{step:x}" for step in steps)
        return f"{self.since:x}.{max(self.at - self.since, 0):x}.{self.seen.xmax:x}.{opened}.{partly}"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Raises InvalidInput for what no event had as its id."""
        found = _TEXT.fullmatch(text) if len(text) <= LONGEST else None
        if found is None:
            raise InvalidInput(_HOW)
        since, after, xmax = (int(part, 16) for part in found.group(1, 2, 3))
        steps = [int(step, 16) for step in found[4].split("-")] if found[4] else []
        seen = TransactionSnapshot(xmax, tuple(accumulate(steps)))
        transaction = int(found[5], 16) if found[5] else None
        partly = transaction is None or transaction == xmax or transaction in seen.open
        if not partly or min(steps, default=1) < 1 or max(seen.open, default=-1) >= xmax or since + after > _LAST:
            raise InvalidInput(_HOW)
        return cls(
            seen=seen, since=since, at=since + after, transaction=transaction, id=UUID(found[6]) if found[6] else None
        )
