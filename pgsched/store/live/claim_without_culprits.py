"""Claims that go on without the rows for whose sake they fail."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from pgsched.domain.execution import ClaimedExecution
from pgsched.store.core.connect import Connection
from pgsched.store.core.culprits import is_a_brief_lock, is_of_a_row
from pgsched.store.core.sql import statement_among
from pgsched.store.live import executions
from pgsched.store.live.claim_culprits import RowPlace, lease_rows, lock_due, sift
from pgsched.store.live.executions import Admit, Claimed, ClaimTerms, Lease, Share
from pgsched.store.live.looking import ALL_ROWS, RowFilter
from pgsched.store.live.set_aside import SetAside

_TRIES = 3


async def claim_despite(
    error: Exception,
    connection: Connection,
    lease: Lease,
    shares: Sequence[Share],
    *,
    now: int,
    admit: Admit | None = None,
    row_filter: RowFilter = ALL_ROWS,
) -> Claimed:
    """``executions.claim`` once more after this error, for which a row is at fault: it is put away first, and named in
    the answer."""
    parked: list[SetAside] = []
    for _ in range(_TRIES):
        if not is_a_brief_lock(error):
            parked += await _sift(connection, lease, shares, ClaimTerms(now, admit, row_filter, again=True))
            refused = tuple(one.id for one in parked if one.how == "left")
            row_filter = replace(row_filter, refused=(*row_filter.refused, *refused)) if refused else row_filter
        try:
            answer = await executions.claim(connection, lease, shares, now=now, admit=admit, row_filter=row_filter)
        except Exception as again:
            if not is_of_a_row(again):
                raise
            error = again
        else:
            return answer._replace(parked=tuple(parked))
    raise error


async def sift_held(
    connection: Connection,
    lease: Lease,
    gate: str,
    partitions: Sequence[int],
    *,
    batch: int,
    attempt: Callable[[list[ClaimedExecution]], Awaitable[object]],
) -> list[SetAside]:
    """Puts away what a gate holds and cannot be claimed from it, or with which the attempt fails that follows."""

    async def lock() -> list[RowPlace]:
        text = statement_among("live/held_rows", tuple(partitions))
        cursor = await connection.execute(text, {"gate": gate, "batch": batch}, binary=True)
        return [RowPlace(*row) for row in await cursor.fetchall()]

    async def try_out(places: Sequence[RowPlace]) -> None:
        await attempt(await lease_rows(connection, lease, places))

    return await sift(connection, lock, try_out)


async def _sift(connection: Connection, lease: Lease, shares: Sequence[Share], terms: ClaimTerms) -> list[SetAside]:
    async def lock() -> list[RowPlace]:
        places: list[RowPlace] = []
        for share in shares:
            named = terms.row_filter.parameters_in(share.partition)
            places += await lock_due(
                connection, lease, [share], terms.row_filter.clauses, named, terms.row_filter.order
            )
        return places

    async def attempt(places: Sequence[RowPlace]) -> None:
        await executions.carry_on(connection, lease, await lease_rows(connection, lease, places), terms)

    return await sift(connection, lock, attempt, ahead=lease.ahead)
