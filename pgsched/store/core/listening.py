"""Listens on a channel."""

from typing import Any

from psycopg import AsyncConnection, sql


async def listen(connection: AsyncConnection[Any], channel: str) -> None:
    """Has notifications on this channel come to this connection. A channel is a name, which no parameter can be."""
    await connection.execute(sql.SQL("listen {}").format(sql.Identifier(channel)))
