"""Circuits in the database: opened, recovering, gone. They are gates; see ``store.gates.gates``."""

from datetime import timedelta

from pgsched.store.core.connect import Connection
from pgsched.store.core.sql import statement


async def open_circuit(
    connection: Connection, name: str, *, rate: int, asked: timedelta | None, probe: bool, reason: str
) -> bool:
    """Leaves a failing target alone; ``rate`` is how many a second pass first once it is back, ``asked`` for how long
    it asked itself, ``probe`` whether it failed the probe. False where it is left alone already."""
    parameters = {"name": name, "rate": rate, "asked": asked, "probe": probe, "reason": reason}
    opened = await (await connection.execute(statement("gates/open_circuit"), parameters)).fetchall()
    await _tell(connection, bool(opened))
    return bool(opened)


async def recover(connection: Connection, name: str) -> bool:
    """The target answered a probe: lets more and more pass. False where that was known."""
    found = await (await connection.execute(statement("gates/recover_circuit"), {"name": name})).fetchall()
    await _tell(connection, bool(found))
    return bool(found)


async def close(connection: Connection, *, after: timedelta) -> list[str]:
    """Ends the recovery of gates that have recovered for so long; their names."""
    found = await (await connection.execute(statement("gates/close_circuits"), {"after": after})).fetchall()
    await _tell(connection, bool(found))
    return [row[0] for row in found]


async def _tell(connection: Connection, changed: bool) -> None:
    if changed:
        await connection.execute(statement("core/notify_workers"), {"word": "gates"})
