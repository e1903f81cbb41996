"""Executions that their targets complete later.

What a target is told to complete with is the token of the lease. It is drawn for the execution alone, before it is
called: so nobody can guess it, and it is good at once, for a target may be quicker with its work than with its answer.
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
    """An execution that its target has for so many seconds."""

    id: bytes
    token: int
    seconds: float


def new_token(partition: int) -> int:
    """As ``pgsched.new_token`` draws it: the last bits are the partition."""
    return secrets.randbits(63 - PARTITION_BITS) << PARTITION_BITS | partition


async def with_own_tokens(connection: AsyncConnection[Any], rows: list[ClaimedExecution]) -> list[ClaimedExecution]:
    """The same claimed rows, those that may be deferred each leased under a token of its own."""
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
    """Leaves rows to their targets. One that was completed before its answer came is gone by now, as it should be."""
    ids, tokens, seconds = zip(*rows, strict=True)
    parameters = {"ids": Uuids(ids), "tokens": Tokens(tokens), "seconds": list(seconds)}
    await connection.execute(statement_in("ends/defer", partition), parameters, binary=True)


def _may_be_deferred(options: bytes) -> bool:
    try:
        return _NAMED in options and parse_options(options).deferred is not None
    except InvalidInput:
        return False  # its delivery will say so
