"""Listens on a channel."""

from typing import Any

from psycopg import AsyncConnection, sql


async def listen(connection: AsyncConnection[Any], channel: str) -> None:
    """Subscribes this connection to a channel. The channel is a name, which cannot be a parameter."""
    await connection.execute(sql.SQL("listen {}").format(sql.Identifier(channel)))
