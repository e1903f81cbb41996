"""Makes claims on one connection, and creates the leases for them."""

import asyncio
import secrets
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import LiteralString

from pgsched.domain.execution import ClaimedExecution
from pgsched.errors import Unavailable
from pgsched.observer import BatchClaimed
from pgsched.service import Service
from pgsched.store.core.connect import Connection, Link
from pgsched.store.core.culprits import is_of_a_row
from pgsched.store.core.wire import LONG_AGO
from pgsched.store.jobs.definition_cache import Definitions
from pgsched.store.live import claim_culprits, executions, reaping
from pgsched.store.live.executions import NOTHING_CLAIMED, Admit, Claimed, Lease, PartitionShare
from pgsched.store.live.parked_rows import SetAside
from pgsched.store.live.row_filter_and_next_due import RowFilter, has_priorities
from pgsched.telemetry import Events
from pgsched.worker.assignment import Assignment
from pgsched.worker.clock import DatabaseClock

SURE = 0.6
"""The part of a lease during which its rows may begin, counted from just before the lease is requested. A silent worker
counts as lost after two thirds of a lease."""
CLAIMING_PATIENCE: LiteralString = "100ms"
"""How long a claim waits for a lock before it is retried without the locked row."""
_TOKEN_BITS = 63
_MOST_REFUSED = 1000
_AT_THE_END, _PARTS_AT_THE_END = 5, 1000  # limits for ``close``: seconds and parts; the seconds usually run out first
_PART = 1000  # rows of each partition that are read at once
_LOCKED = 0.05  # seconds until locked rows are searched for again


def new_token() -> int:
    """Returns a unique token that cannot be guessed, because whoever knows a row's token may settle the row."""
    return secrets.randbits(_TOKEN_BITS) or 1


class ClaimingConnection:
    """Makes claims, and remembers each lease until its claim is answered. If the connection breaks before the answer,
    rows may be leased to this worker without its knowledge; such rows are given back."""

    def __init__(
        self,
        link: Link,
        assignment: Assignment,
        clock: DatabaseClock,
        events: Events,
        definitions: Definitions,
        length: timedelta,
    ) -> None:
        self.link, self.assignment, self.clock, self.events = link, assignment, clock, events
        self._definitions, self._length = definitions, length
        self._sure = SURE * length.total_seconds()
        self._unanswered: list[int] = []
        self._refused: dict[bytes, None] = {}
        self._looking_for: list[int] = []
        self._marks: dict[int, int] = {}
        self._locked: dict[int, int] = {}

    @property
    def unanswered(self) -> list[int]:
        """The tokens of claims that have not been answered. It is unknown which rows these claims have leased."""
        return [*self._unanswered]

    async def _connection(self) -> Connection:
        """Returns the connection for a claim. Raises Unavailable if the installation is held on the connection's
        server, which may not have been known when the partitions were chosen."""
        connection = await self.link.get()
        if self.assignment.held is not None:
            raise Unavailable(f"the installation is held for recovery: {self.assignment.held}")
        return connection

    def ask(self, ahead: timedelta) -> Lease:
        """Creates a lease with a new token, for rows that are due within ``ahead``."""
        token = new_token()
        self._unanswered.append(token)
        sure_until = time.monotonic() + self._sure
        return Lease(
            owner=self.assignment.number,
            token=token,
            length=self._length,
            ahead=ahead,
            sure_until=sure_until,
            definitions=self._definitions,
        )

    def answered(
        self,
        lease: Lease,
        rows: Sequence[ClaimedExecution] | None = None,
        *,
        statements: int = 3,
        at_once: bool = False,
    ) -> None:
        """Records that a claim was answered. Reports the claim to the observers, unless ``rows`` is None."""
        self._unanswered.remove(lease.token)
        if rows is not None:
            asked_at = lease.sure_until - self._sure
            for observer in self.events.observers:
                seconds = time.monotonic() - asked_at
                observer.claimed(BatchClaimed(rows=len(rows), statements=statements, seconds=seconds, at_once=at_once))

    def tell(self, parked: Iterable[SetAside]) -> None:
        """Reports rows that were set aside. Later claims skip rows that could not be set aside."""
        for one in parked:
            self.events.emit("execution.parked", execution=one.id.hex(), how=one.how, reason=one.reason)
            if one.how == "left":
                self._refused[one.id] = None
        while len(self._refused) > _MOST_REFUSED:
            del self._refused[next(iter(self._refused))]

    async def claim(
        self,
        shares: Sequence[PartitionShare],
        ahead: timedelta,
        *,
        row_filter: RowFilter,
        admit: Admit | None = None,
        at_once: bool = False,
    ) -> Claimed:
        """Claims rows that are due within ``ahead`` (``executions.claim``).

        With ``at_once``, claims plain rows of a single share in one round trip (``executions.claim_at_once``). A claim
        by priority that fails because of a row claims nothing, and claims by instant handle that row.
        """
        connection = await self._connection()
        if row_filter.first and not await has_priorities(connection, [share.partition for share in shares]):
            return NOTHING_CLAIMED
        lease, now = self.ask(ahead), self.clock.now()
        if self._refused and not at_once:
            row_filter = replace(row_filter, refused=tuple(self._refused))
        try:
            if at_once:
                answer = await executions.claim_at_once(connection, lease, shares[0], row_filter.plainly())
            else:
                answer = await executions.claim(connection, lease, shares, now=now, admit=admit, row_filter=row_filter)
        except Exception as error:
            if not is_of_a_row(error):
                raise
            if at_once:
                await self.give_back()  # including rows that were leased but could not be read
                return await self.claim(shares, ahead, row_filter=row_filter.plainly())
            answer = NOTHING_CLAIMED
            if not row_filter.is_by_priority:
                answer = await claim_culprits.claim_despite(
                    error, connection, lease, shares, now=now, admit=admit, row_filter=row_filter
                )
        self.answered(lease, answer.taken, statements=answer.statements, at_once=at_once)
        self.tell(answer.parked)
        return answer._replace(sure_until=lease.sure_until)

    async def give_back(self, *, parts: int = 1) -> None:
        """Hands back the rows of claims that were never answered. To find these rows, reads the next ``parts`` parts of
        the due rows. Skips locked rows, and searches for them again at the end. Does nothing if all claims were
        answered."""
        while self._unanswered and parts > 0:
            if self._looking_for != self._unanswered:
                self._looking_for = list(self._unanswered)
                self._marks, self._locked = dict.fromkeys(self.assignment.partitions, LONG_AGO), {}
            tokens, connection = self._looking_for, await self.link.get()
            found = await reaping.release_claims(connection, self._marks, tokens, depth=_PART)
            self._marks, self._locked = found.read_to, {**found.locked, **self._locked}
            parts -= 1
            if self._marks:
                continue
            if not self._locked:
                self._unanswered = [token for token in self._unanswered if token not in tokens]
                continue
            self._marks, self._locked = self._locked, {}
            if parts > 0:
                await asyncio.sleep(_LOCKED)  # polls, because a lock may be held for long

    async def close(self) -> None:
        """Hands back the rows of unanswered claims, and closes the connection. Must be called after the last claim."""
        if self._unanswered:
            async with asyncio.timeout(_AT_THE_END):
                await self.give_back(parts=_PARTS_AT_THE_END)
        await self.link.drop()


class Claiming(Service):
    """A service that claims rows. ``links`` are further connections for its turns."""

    def __init__(self, leases: ClaimingConnection, *links: Link) -> None:
        super().__init__(leases.events, leases.link, *links)
        self.leases, self._link = leases, leases.link
        self._assignment, self._clock = leases.assignment, leases.clock
