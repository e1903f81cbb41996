"""A reader's position among the ended executions, in the order in which their ends became visible.

A transaction may commit long after transactions with higher numbers, so the instant stored in a row does not tell when
the row became visible. A reader's position therefore contains a PostgreSQL snapshot, which names the transactions that
were open when it was taken. If a later snapshot sees a row that this snapshot does not see, the row became visible in
between. A transaction that stays open delays only its own rows.

Between two snapshots, rows are read in order of transaction and id. ``Position`` is the reader's state after any row.
"""

import re
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from typing import Self
from uuid import UUID

from pgsched.errors import InvalidInput

MOST_OPEN = 1000
"""Maximum number of open transactions in a snapshot. If more are open, the snapshot is cut off after the lowest, and
rows of later transactions are read later."""
LONGEST = 16_000
"""Maximum length of a position's text, in characters; a typical position has about 60."""
_TEXT = re.compile(
    r"([0-9a-f]{1,9})\.([0-9a-f]{1,9})\.([0-9a-f]{1,15})\.((?:[0-9a-f]{1,15}(?:-[0-9a-f]{1,15}){0,1999})?)\.(?:([0-9a-f]{1,15})\.([0-9a-f]{32}))?"
)
_BEFORE = timedelta(days=1)
_LAST = 2**36  # seconds; no position has a later time
_HOW = "not the id of an event: send the id of the last event that was read, or leave the id out"


@dataclass(frozen=True, slots=True)
class TransactionSnapshot:
    """A snapshot, which sees all transactions below ``xmax`` except those in ``open``. ``open`` is sorted."""

    xmax: int
    open: tuple[int, ...] = ()

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parses PostgreSQL's ``xmin:xmax:xip,…``. Truncates the snapshot if too many transactions are open."""
        _, xmax, xip = text.split(":")
        found = sorted(map(int, filter(None, xip.split(","))))
        return (
            cls(int(xmax), tuple(found)) if len(found) <= MOST_OPEN else cls(found[MOST_OPEN], tuple(found[:MOST_OPEN]))
        )

    def sees(self, transaction: int) -> bool:
        return transaction < self.xmax and transaction not in self.open

    def within(self, other: Self) -> bool:
        """Whether ``other`` sees everything that this snapshot sees."""
        return self.xmax <= other.xmax and all(one in self.open for one in other.open if one < self.xmax)

    def advanced(self, to: Self, below: int) -> Self:
        """Returns this snapshot extended by all transactions below ``below`` that ``to`` sees."""
        still = tuple(one for one in self.open if one >= below or not to.sees(one))
        return type(self)(max(self.xmax, below), still + tuple(one for one in to.open if self.xmax <= one < below))

    def with_one_more(self, transaction: int) -> Self:
        """Returns a snapshot that also sees ``transaction``, which is in ``open`` or equals ``xmax``."""
        if transaction == self.xmax:
            return type(self)(transaction + 1, self.open)
        return type(self)(self.xmax, tuple(one for one in self.open if one != transaction))


@dataclass(frozen=True, slots=True, kw_only=True)
class VisibilityHorizon:
    """The transactions whose rows can be read at the database time ``at``. ``newest`` is the server's xmax: one more
    than the number of the newest transaction."""

    seen: TransactionSnapshot
    newest: int
    at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """A reader's position. The reader has read everything that ``seen`` sees. It has also read the rows up to ``id`` of
    ``transaction``, which ``seen`` does not see.

    ``seen`` was taken at ``at``, and the transactions open in it began at ``since`` or later. Both are in seconds.
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
        """Returns the position of a reader that has read nothing, and wants the executions that end at ``at`` or
        later."""
        return cls(seen=TransactionSnapshot(0), since=int(at.timestamp()), at=int(at.timestamp()))

    @property
    def earliest(self) -> datetime:
        """A lower bound for the end times of unread rows. An end time is the instant at which a transaction began,
        which may be before the transaction got its number."""
        return datetime.fromtimestamp(self.since, UTC) - min(_BEFORE, timedelta(seconds=self.since))

    @property
    def place(self) -> tuple[TransactionSnapshot, int | None, UUID | None]:
        """The position without its times. Equal for all readers that have read the same rows."""
        return self.seen, self.transaction, self.id

    def check(self, horizon: VisibilityHorizon) -> None:
        """Raises InvalidInput for a position that this database has not issued."""
        if self.seen.xmax > horizon.newest:
            raise InvalidInput(
                "this event id is not from this database, or is from before it was restored: leave the id out, and "
                "look up in /v1/executions what has ended in the meantime"
            )

    def is_within(self, horizon: VisibilityHorizon) -> bool:
        """Whether everything that the reader has read is visible at the horizon."""
        partly = self.transaction is None or horizon.seen.sees(self.transaction)
        return partly and self.seen.within(horizon.seen)

    def late(self, horizon: VisibilityHorizon) -> list[int]:
        """Returns the transactions that are open in ``seen`` but have since ended, and the transaction that is partly
        read."""
        ended = {one for one in self.seen.open if horizon.seen.sees(one)}
        return sorted(ended | ({self.transaction} if self.transaction is not None else set()))

    def after(self, horizon: VisibilityHorizon, transaction: int, id: UUID) -> Self:
        """Returns the position after the row ``id`` of ``transaction``. The row must be visible at the horizon."""
        seen = self.seen if transaction == self.transaction else self._whole().advanced(horizon.seen, transaction)
        return replace(self, seen=seen, transaction=transaction, id=id)

    def up_to(self, horizon: VisibilityHorizon, below: int) -> Self:
        """Returns the position after all rows of transactions below ``below`` that are visible at the horizon."""
        seen = self._whole().advanced(horizon.seen, below)
        if below < horizon.seen.xmax:
            return replace(self, seen=seen, transaction=None, id=None)
        # A horizon with the maximum number of open transactions is truncated: later transactions may have begun before
        # it.
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
        """Parses a position. Raises InvalidInput for a text that cannot be the id of an event."""
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
