"""Handles executions that their targets complete later.

A target completes an execution with the lease's token. Each of these executions has a token of its own, which nobody
can guess. The token is drawn before the call, so it is valid even if the target finishes its work before it responds.
"""

import secrets
from collections.abc import Sequence
from typing import Any, NamedTuple

from psycopg import AsyncConnection

from pgsched.domain.execution import ClaimedExecution, by_partition
from pgsched.domain.execution_options import parse_options
from pgsched.domain.queue_partitions import PARTITION_BITS
from pgsched.errors import InvalidInput
from pgsched.store.core.sql import statement_in
from pgsched.store.core.wire import Tokens, Uuids

_NAMED = b'"deferred"'


class AcceptedRow(NamedTuple):
    """An execution that its target has accepted and must complete within ``seconds``."""

    id: bytes
    token: int
    seconds: float


def new_token(partition: int) -> int:
    """Draws a random token whose last bits are the partition, as ``pgsched.new_token`` does."""
    return secrets.randbits(63 - PARTITION_BITS) << PARTITION_BITS | partition


async def with_own_tokens(connection: AsyncConnection[Any], rows: list[ClaimedExecution]) -> list[ClaimedExecution]:
    """Gives each claimed row that may be deferred a lease token of its own, and returns all the rows."""
    own = {row.id: new_token(row.partition) for row in rows if row.options and _may_be_deferred(row.options)}
    if not own:
        return rows
    for partition, some in by_partition(row for row in rows if row.id in own).items():
        parameters = {
            "ids": Uuids(row.id for row in some),
            "tokens": Tokens({row.token for row in some}),
            "owns": Tokens(own[row.id] for row in some),
        }
        await connection.execute(statement_in("ends/lease_anew", partition), parameters, binary=True)
    return [row._replace(token=own[row.id]) if row.id in own else row for row in rows]


async def defer(connection: AsyncConnection[Any], partition: int, rows: Sequence[AcceptedRow]) -> None:
    """Leaves rows for their targets to complete. A row that was completed before the response arrived no longer
    exists, and is skipped.
    """
    ids, tokens, seconds = zip(*rows, strict=True)
    parameters = {"ids": Uuids(ids), "tokens": Tokens(tokens), "seconds": list(seconds)}
    await connection.execute(statement_in("ends/defer", partition), parameters, binary=True)


def _may_be_deferred(options: bytes) -> bool:
    try:
        return _NAMED in options and parse_options(options).deferred is not None
    except InvalidInput:
        return False  # its delivery reports the error
