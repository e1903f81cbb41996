"""Plans the hot path's statements on a new connection, so that the first rows do not wait for planning.

Each statement has one variant for each partition, and one for all partitions together. If a connection replaces a lost
one, rows are waiting, so only the variants for all partitions are planned. The others, which are most of the work, are
planned on first use.
"""

from collections.abc import Sequence
from datetime import timedelta

from pgsched.store.core.connect import Connection
from pgsched.store.core.wire import FAR_OFF
from pgsched.store.live.executions import NOTHING, Lease, PartitionShare, claim, claim_at_once, settle_succeeded
from pgsched.store.live.row_filter_and_next_due import next_due


async def warm_claims(connection: Connection, partitions: Sequence[int], *, each: bool) -> None:
    """Plans the claim statements for all partitions together and, if ``each`` is True, also for each partition. Claims
    nothing.
    """
    lease = Lease(owner=0, token=1 << 32, length=timedelta(0), ahead=timedelta(0))
    shares = [PartitionShare(partition, FAR_OFF, 0) for partition in partitions]
    for share in shares if each else ():
        await claim_at_once(connection, lease, share)
        await next_due(connection, {share.partition: FAR_OFF})
    if shares:
        await claim(connection, lease, shares, now=0)
        await next_due(connection, dict.fromkeys(partitions, FAR_OFF))


async def warm_settles(connection: Connection, partitions: Sequence[int], *, each: bool) -> None:
    """Plans the statements that end succeeded rows. Settles nothing."""
    for code in (None, 200):
        for partition in partitions if each else ():
            await settle_succeeded(connection, code, {partition: NOTHING})
        await settle_succeeded(connection, code, dict.fromkeys(partitions, NOTHING))
