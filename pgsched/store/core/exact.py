"""Reads values exactly as the database has them: instants in UTC, JSON digit for digit."""

from datetime import UTC, datetime
from typing import Any

import msgspec
from psycopg import AsyncConnection, AsyncCursor, DataError, postgres
from psycopg.adapt import Buffer, Loader
from psycopg.pq import Format
from psycopg.types.datetime import TimestamptzLoader

_TIMESTAMPTZ = postgres.types["timestamptz"].oid


class _Instant(TimestamptzLoader):
    """In UTC; None for infinity; the last or first instant there is for one that Python cannot hold."""

    def load(self, data: Buffer) -> datetime | None:  # type: ignore[override]
        text = bytes(data)
        if text.endswith(b"infinity"):
            return None
        try:
            return super().load(data).astimezone(UTC)
        except (DataError, OverflowError):
            return (datetime.min if text.endswith(b"BC") else datetime.max).replace(tzinfo=UTC)


class _Json(Loader):
    """As it is stored, digit for digit."""

    def load(self, data: Buffer) -> msgspec.Raw:
        return msgspec.Raw(bytes(data))


def read_exactly(reader: AsyncConnection[Any] | AsyncCursor[Any]) -> None:
    """Makes a connection or cursor hand out instants in UTC, and JSON as its text."""
    if reader.adapters.get_loader(_TIMESTAMPTZ, Format.TEXT) is not _Instant:  # else it has that of its connection
        reader.adapters.register_loader("timestamptz", _Instant)
        reader.adapters.register_loader("jsonb", _Json)
