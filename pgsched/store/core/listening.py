"""Listens on a channel."""

from typing import Any

from psycopg import AsyncConnection, sql


async def listen(connection: AsyncConnection[Any], channel: str) -> None:
    """Subscribes this connection to a channel."""
    await connection.execute(sql.SQL("listen {}").format(sql.Identifier(channel)))
