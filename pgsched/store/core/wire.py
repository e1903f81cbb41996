"""The wire format of rows on the hot path and in bulk loads: binary, and decoded no further than delivery needs.

UUIDs stay sixteen bytes, instants stay microseconds since 2000-01-01 UTC, and JSON stays text until it is needed.
Arrays are packed here in one step, because psycopg's dumper packs one element at a time.
"""

import struct
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from psycopg import AsyncConnection
from psycopg.abc import AdaptContext
from psycopg.adapt import Buffer, Dumper, Loader
from psycopg.pq import Format

EPOCH = datetime(2000, 1, 1, tzinfo=UTC)
UNIX_TO_WIRE = 946_684_800_000_000
"""Microseconds from 1970 to 2000."""
LONG_AGO, FAR_OFF = -(2**63), 2**63 - 1  # the wire forms of -infinity and infinity
_UUID, _INT8, _TIMESTAMPTZ, _TEXT = 2950, 20, 1184, 25
_UUID_ARRAY, _INT8_ARRAY, _TIMESTAMPTZ_ARRAY, _TEXT_ARRAY = 2951, 1016, 1185, 1009
_instant = struct.Struct("!q")
_length = struct.Struct("!i")
_NULL = _length.pack(-1)


class Instant(int):
    """Microseconds since 2000-01-01 UTC, sent as timestamptz."""


class Instants(tuple[int, ...]):
    """Microseconds since 2000-01-01 UTC, sent as timestamptz[]."""


class Uuids(tuple[bytes, ...]):
    """Raw UUIDs, sent as uuid[]."""


class Tokens(tuple[int, ...]):
    """Lease tokens, sent as bigint[]."""


class Texts(list[bytes | None]):
    """Text in the connection's encoding, sent as text[]."""


def to_datetime(instant: int) -> datetime:
    """Returns the aware UTC datetime of an instant on the wire."""
    return EPOCH + timedelta(microseconds=instant)


def to_instant(moment: datetime) -> Instant:
    """Converts an aware datetime to an instant on the wire."""
    return Instant(microseconds(moment))


def microseconds(moment: datetime) -> int:
    """Like ``to_instant``, but returns a plain int."""
    since = moment - EPOCH
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


LAST = to_instant(datetime(9999, 12, 30, tzinfo=UTC))
"""The last instant for which a job gets a row; the execution may start up to a day later."""


def _array(element: int, length: int, values: Iterable[bytes], count: int) -> bytes:
    if not count:
        return struct.pack("!iii", 0, 0, element)
    prefix = length.to_bytes(4, "big")
    return struct.pack("!iiiii", 1, 0, element, count, 1) + prefix + prefix.join(values)


class _InstantDumper(Dumper):
    format = Format.BINARY
    oid = _TIMESTAMPTZ

    def dump(self, obj: Any) -> Buffer:
        return _instant.pack(obj)


class _InstantsDumper(Dumper):
    format = Format.BINARY
    oid = _TIMESTAMPTZ_ARRAY

    def dump(self, obj: Any) -> Buffer:
        return _array(_TIMESTAMPTZ, 8, map(_instant.pack, obj), len(obj))


class _UuidsDumper(Dumper):
    format = Format.BINARY
    oid = _UUID_ARRAY

    def dump(self, obj: Any) -> Buffer:
        return _array(_UUID, 16, obj, len(obj))


class _TokensDumper(Dumper):
    format = Format.BINARY
    oid = _INT8_ARRAY

    def dump(self, obj: Any) -> Buffer:
        return _array(_INT8, 8, map(_instant.pack, obj), len(obj))


class _TextsDumper(Dumper):
    format = Format.BINARY
    oid = _TEXT_ARRAY

    def dump(self, obj: Sequence[bytes | None]) -> Buffer:
        packed = b"".join([_NULL if value is None else _length.pack(len(value)) + value for value in obj])
        return struct.pack("!iiiii", 1, 1, _TEXT, len(obj), 1) + packed


class _InstantLoader(Loader):
    format = Format.BINARY

    def load(self, data: Buffer) -> int:
        value: int = _instant.unpack(data)[0]
        return value


class _RawLoader(Loader):
    format = Format.BINARY

    def load(self, data: Buffer) -> bytes:
        return bytes(data)


class _JsonbLoader(Loader):
    format = Format.BINARY

    def load(self, data: Buffer) -> bytes:
        return bytes(data)[1:]  # the first byte is jsonb's version


def register(connection: AsyncConnection[Any]) -> None:
    """Makes a connection use these formats for the hot path's types."""
    register_arrays(connection)
    adapters = connection.adapters
    adapters.register_loader("timestamptz", _InstantLoader)
    adapters.register_loader("uuid", _RawLoader)
    adapters.register_loader("jsonb", _JsonbLoader)


def register_arrays(context: AdaptContext) -> None:
    """Registers only the dumpers, so that a handler's or caller's connection or cursor still reads psycopg's types."""
    adapters = context.adapters
    adapters.register_dumper(Uuids, _UuidsDumper)
    adapters.register_dumper(Tokens, _TokensDumper)
    adapters.register_dumper(Instant, _InstantDumper)
    adapters.register_dumper(Instants, _InstantsDumper)
    adapters.register_dumper(Texts, _TextsDumper)
