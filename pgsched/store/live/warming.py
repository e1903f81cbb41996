"""Has the statements of the hot path planned on a worker's first connections, so that no first row waits for it. When
these were lost and are made anew, rows wait already, and for most of them one statement over all partitions is enough:
so it is left to each statement's first use."""

from collections.abc import Sequence
from datetime import timedelta

from pgsched.store.core.connect import Connection
from pgsched.store.core.wire import FAR_OFF
from pgsched.store.live.executions import NOTHING, Lease, Share, claim, claim_at_once, settle_succeeded
from pgsched.store.live.looking import next_due


async def warm_claims(connection: Connection, partitions: Sequence[int]) -> None:
    """Has the statements of claiming planned on a new connection, so that no first row waits for it. Claims nothing."""
    lease = Lease(owner=0, token=1 << 32, length=timedelta(0), ahead=timedelta(0))
    shares = [Share(partition, FAR_OFF, 0) for partition in partitions]
    for share in shares:
        await claim_at_once(connection, lease, share)
        await next_due(connection, {share.partition: FAR_OFF})
    if shares:
        await claim(connection, lease, shares, now=0)
        await next_due(connection, dict.fromkeys(partitions, FAR_OFF))


async def warm_settles(connection: Connection, partitions: Sequence[int]) -> None:
    """The same for the ends of rows that succeeded. Settles nothing."""
    for code in (None, 200):
        for partition in partitions:
            await settle_succeeded(connection, code, {partition: NOTHING})
        await settle_succeeded(connection, code, dict.fromkeys(partitions, NOTHING))
