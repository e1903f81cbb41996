"""Starts bulk operations; ``lookup.bulk_pages`` shows them."""

from datetime import timedelta
from typing import Any

from psycopg import AsyncConnection

from pgsched.store import verbs
from pgsched.store.bulk.backfill_instants import Range, count_instants
from pgsched.store.bulk.operation_types import COUNTED_WITHIN, Action, BulkAsked


async def ask(
    connection: AsyncConnection[Any],
    action: Action,
    filter: str,
    /,
    *,
    dry_run: bool = False,
    counted_within: float = COUNTED_WITHIN,
    **given: Any,
) -> BulkAsked:
    """Counts the rows that the JSON filter selects, for a limited time, and then starts the operation unless it is a
    dry run.

    ``given`` are further arguments of ``verbs.bulk``. Raises the driver's error if the operation is refused, and
    InvalidSchedule if a job has no instants to backfill.
    """
    given["within"] = timedelta(seconds=counted_within)
    if action != "backfill":
        id, matched, complete = await verbs.bulk(connection, action, filter, dry_run=dry_run, **given)
        return BulkAsked(id=id, matched=matched or 0, complete=complete)
    await verbs.bulk(connection, action, filter, dry_run=True, **given)  # refuses before anything is counted
    instants, skipped = await count_instants(connection, Range.of(filter))
    id = None if dry_run else (await verbs.bulk(connection, action, filter, **given))[0]
    return BulkAsked(id=id, matched=instants, complete=True, skipped=skipped)
