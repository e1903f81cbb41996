"""The statements of a row's life, one batch per call, sent by the store's own code."""

from collections import Counter
from datetime import timedelta

from pgsched.store.core.connect import Connection
from pgsched.store.core.wire import LONG_AGO
from pgsched.store.live import executions
from pgsched.store.live.executions import Group, Lease, PartitionShare
from pgsched.store.live.row_filter_and_next_due import next_due

PARTITIONS = 16
_SCHEDULE = """
insert into pgsched.executions (target, payload, fire_at, partition)
select 'python:noop', '{"order": 42, "merchant": "abcdefghij"}',
       now() - interval '1 hour' + (%(call)s::bigint * %(batch)s::bigint + n) * interval '1 microsecond',
       coalesce(%(partition)s::smallint, mod(n, 16)::smallint)
  from generate_series(0, %(batch)s::bigint - 1) as n"""


class Life:
    """Batches that lie in one partition each, a different one from call to call, or in all of them (``spread``).

    Every method takes the number of the call and returns the number of rows. A claim begins where the partition's last
    one ended, as in workers.
    """

    def __init__(self, connection: Connection, batch: int, *, spread: bool) -> None:
        self._connection, self.batch, self.spread = connection, batch, spread
        self.claimed: list[dict[int, Group]] = []
        self._low: dict[int, int] = {}

    async def schedule(self, number: int) -> int:
        """Inserts one batch of due rows."""
        partition = None if self.spread else number % PARTITIONS
        parameters = {"call": number, "batch": self.batch, "partition": partition}
        await self._connection.execute(_SCHEDULE.encode(), parameters)
        return self.batch

    async def next_due(self, _: int) -> int:
        """Polls all partitions."""
        due = (await next_due(self._connection, dict.fromkeys(range(PARTITIONS), LONG_AGO))).due
        return len(due)

    async def claim(self, number: int) -> int:
        """Claims one batch."""
        shares = [PartitionShare(p, self._low.get(p, LONG_AGO), rows) for p, rows in self._rows(number).items()]
        lease = Lease(owner=1, token=number + 1, length=timedelta(minutes=5), ahead=timedelta(0))
        rows = (await executions.claim(self._connection, lease, shares, now=0)).rows
        groups: dict[int, Group] = {}
        for row in rows:
            groups.setdefault(row.partition, Group([], [number + 1])).ids.append(row.id)
            self._low[row.partition] = max(row.fire_at, self._low.get(row.partition, LONG_AGO))
        self.claimed.append(groups)
        return len(rows)

    async def settle_succeeded(self, number: int) -> int:
        """Moves one batch into history."""
        answers = await executions.settle_succeeded(self._connection, None, self.claimed[number])
        return sum(answer.rowcount for answer in answers)

    async def settle_discarded(self, number: int) -> int:
        """Deletes one batch."""
        answers = await executions.settle_discarded(self._connection, self.claimed[number])
        return sum(answer.rowcount for answer in answers)

    def _rows(self, number: int) -> Counter[int]:
        if self.spread:
            return Counter(n % PARTITIONS for n in range(self.batch))
        return Counter({number % PARTITIONS: self.batch})
