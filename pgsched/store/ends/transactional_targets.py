"""Runs ``sql:`` and ``notify:`` targets in the transaction that settles the execution: both take effect, or neither
does.
"""

from datetime import timedelta
from typing import Any, LiteralString

from pgsched.domain.execution import ClaimedExecution
from pgsched.store.core.client_role_sessions import STATEMENT_SECONDS, Connection
from pgsched.store.core.sql import statement


async def call_target(
    connection: Connection, execution: ClaimedExecution, function: tuple[str, str], role: str, within: timedelta
) -> None:
    """Calls the function (a schema and a name) as the role, and settles the execution with the function's result.

    Raises the function's errors, psycopg's QueryCanceled if the function takes longer than ``within``, and SQLSTATE
    PS013 if the execution has since been leased again. In each case, everything is rolled back.
    """
    schema, name = function
    call = {
        **_lease(execution),
        "schema": schema,
        "function": name,
        "payload": None if execution.payload is None else execution.payload.decode(),
        "client": execution.client_id,
        "attempt": execution.attempt,
        "scheduled_for": execution.nominal,
    }
    before = list(_preparations(connection, role, within.total_seconds()))
    if not before:
        await connection.execute(statement("ends/call_target"), call)
        return
    async with connection.pipeline():  # without a begin, the pipeline is one transaction
        for text, parameters in before:
            await connection.execute(text, parameters)
        await connection.execute(statement("ends/call_target"), call)


async def notify_target(connection: Connection, execution: ClaimedExecution, channel: str, payload: str) -> None:
    """Notifies the channel and settles the execution. If the execution has since been leased again, raises SQLSTATE
    PS013 and everything is rolled back.
    """
    parameters = {**_lease(execution), "channel": channel, "payload": payload}
    await connection.execute(statement("ends/notify_target"), parameters)


def _preparations(connection: Connection, role: str, seconds: float) -> list[tuple[LiteralString, dict[str, Any]]]:
    """Returns the statements with which a call's transaction begins, if the session is not yet set up for it."""
    found: list[tuple[LiteralString, dict[str, Any]]] = []
    if connection.info.user != role:
        found.append((statement("ends/assume_role"), {"role": role}))
    if seconds != STATEMENT_SECONDS:
        found.append((statement("ends/limit_statements"), {"milliseconds": str(max(1, round(seconds * 1000)))}))
    return found


def _lease(execution: ClaimedExecution) -> dict[str, Any]:
    return {"partition": execution.partition, "id": execution.uuid, "token": execution.token}
