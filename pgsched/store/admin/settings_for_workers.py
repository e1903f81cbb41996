"""Reads the settings of clients and queues that a worker keeps in memory."""

from dataclasses import dataclass
from typing import Any

from psycopg import AsyncConnection
from psycopg.rows import class_row

from pgsched.store.core.sql import statement


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientForWorker:
    """What a worker needs to know about a client."""

    client_id: str
    keep: str
    options: bytes | None
    weight: int
    channels: list[str] | None
    database_role: str | None
    signing_secrets: list[bytes]


async def client_settings(connection: AsyncConnection[Any]) -> list[ClientForWorker]:
    """Returns the settings of all clients that have any. The connection must use the formats of ``store.core.wire``."""
    async with connection.cursor(row_factory=class_row(ClientForWorker)) as cursor:
        await cursor.execute(statement("admin/client_settings"), binary=True)
        return await cursor.fetchall()


async def queue_settings(connection: AsyncConnection[Any]) -> list[tuple[int, bytes | None, int]]:
    """Returns each queue's first partition, its default execution options, and its weight. The connection must use the
    formats of ``store.core.wire``.
    """
    cursor = await connection.execute(statement("admin/queue_settings"), binary=True)
    return await cursor.fetchall()
