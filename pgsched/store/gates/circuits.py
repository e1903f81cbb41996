"""Circuits in the database: opened, recovering, gone. They are gates; see ``store.gates.gates``."""

from datetime import timedelta
from typing import Any

from pgsched.store import internal_verbs
from pgsched.store.core.connect import Connection
from pgsched.store.core.query import column


async def open_circuit(
    connection: Connection,
    name: str,
    *,
    rate: int,
    asked: timedelta | None,
    probe: bool,
    failed_for: timedelta,
    reason: str,
) -> bool:
    """Leaves a failing target alone; ``rate`` is how many a second pass first once it is back, ``asked`` for how long
    it asked itself, ``probe`` whether it failed the probe, ``failed_for`` how long ago it began to fail. False where it
    is left alone already."""
    asked_for = {"rate": rate, "asked": asked, "probe": probe, "failed_for": failed_for, "reason": reason}
    return bool(await _change(connection, "gates/open_circuit", name=name, **asked_for))


async def recover(connection: Connection, name: str) -> bool:
    """The target answered a probe: lets more and more pass. False where that was known."""
    return bool(await _change(connection, "gates/recover_circuit", name=name))


async def close(connection: Connection, *, after: timedelta) -> list[str]:
    """Ends the recovery of gates that have recovered for so long; their names."""
    return await _change(connection, "gates/close_circuits", after=after)


async def _change(connection: Connection, statement_name: str, /, **parameters: Any) -> list[str]:
    """The names of the gates that a statement has changed; the workers are told of them."""
    found = await column(connection, statement_name, **parameters)
    if found:
        await internal_verbs.notify_workers(connection, "gates")
    return found
