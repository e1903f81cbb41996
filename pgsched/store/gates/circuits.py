"""Opens circuits in the database, lets them recover, and closes them. Circuits are gates; see ``store.gates.gates``."""

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
    """Stops calls to a failing target. Returns False if calls are already stopped. ``rate`` is the number of executions
    a second that pass at first once the target is back. ``asked`` is the pause that the target asked for, ``probe``
    says whether the failed call was the probe, and ``failed_for`` is how long the target has been failing.
    """
    asked_for = {"rate": rate, "asked": asked, "probe": probe, "failed_for": failed_for, "reason": reason}
    return bool(await _change(connection, "gates/open_circuit", name=name, **asked_for))


async def recover(connection: Connection, name: str) -> bool:
    """Records that the target answered a probe, so that executions pass at a rising rate. Returns False if this was
    already recorded.
    """
    return bool(await _change(connection, "gates/recover_circuit", name=name))


async def close(connection: Connection, *, after: timedelta) -> list[str]:
    """Ends the recovery of gates that have been recovering for at least ``after``. Returns their names."""
    return await _change(connection, "gates/close_circuits", after=after)


async def _change(connection: Connection, statement_name: str, /, **parameters: Any) -> list[str]:
    """Runs a statement, and notifies the workers if it changed gates. Returns the names of those gates."""
    found = await column(connection, statement_name, **parameters)
    if found:
        await internal_verbs.notify_workers(connection, "gates")
    return found
