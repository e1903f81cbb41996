"""Claims of one connection, and the leases under which they are made."""

import asyncio
import time
from collections.abc import Sequence
from datetime import timedelta

from pgsched.store import executions
from pgsched.store.connect import Link
from pgsched.store.executions import Admit, Claimed, Lease, Share
from pgsched.store.whose import Whose
from pgsched.worker.clock import DatabaseClock
from pgsched.worker.roster import Roster

SURE = 0.6
"""For what part of a lease, counted from before it was asked for, rows are begun under it: a worker of which nothing
is heard counts as lost after two thirds of one."""
_AT_THE_END = 5  # seconds


class Leases:
    """Remembers what was asked for until the answer is there: rows whose claim's answer a broken connection swallowed
    may be leased to this worker without its knowing, and are given back."""

    def __init__(self, link: Link, roster: Roster, clock: DatabaseClock, length: timedelta) -> None:
        self.link, self._roster, self._clock, self._length = link, roster, clock, length
        self._unanswered: list[int] = []

    def ask(self, ahead: timedelta) -> Lease:
        """A lease under a token that no claim has had, for rows that are due so far ahead."""
        token = self._roster.next_token()
        self._unanswered.append(token)
        sure_until = time.monotonic() + SURE * self._length.total_seconds()
        return Lease(owner=self._roster.number, token=token, length=self._length, ahead=ahead, sure_until=sure_until)

    def answered(self, lease: Lease) -> None:
        """It is known what was leased."""
        self._unanswered.remove(lease.token)

    async def claim(self, shares: Sequence[Share], ahead: timedelta, *, admit: Admit, whose: Whose) -> Claimed:
        """Claims rows that are due so far ahead (``executions.claim``)."""
        connection, lease, now = await self.link.get(), self.ask(ahead), self._clock.now()
        answer = await executions.claim(connection, lease, shares, now=now, admit=admit, whose=whose)
        self.answered(lease)
        return answer._replace(sure_until=lease.sure_until)

    async def claim_at_once(self, share: Share, ahead: timedelta, *, whose: Whose) -> Claimed:
        """The same of one partition, in a single round trip (``executions.claim_at_once``)."""
        connection, lease = await self.link.get(), self.ask(ahead)
        answer = await executions.claim_at_once(connection, lease, share, whose.plainly())
        self.answered(lease)
        return answer._replace(sure_until=lease.sure_until)

    async def give_back(self) -> None:
        """Hands back what claims took whose answers never came."""
        if self._unanswered:
            connection = await self.link.get()
            await executions.release_claims(connection, self._roster.partitions, self._unanswered)
            self._unanswered.clear()

    async def close(self) -> None:
        """After the last claim: what has no answer is given back, the connection closed."""
        if self._unanswered:
            async with asyncio.timeout(_AT_THE_END):
                await self.give_back()
        await self.link.drop()
