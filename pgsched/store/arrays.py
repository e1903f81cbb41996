"""Columns of many rows as array parameters in binary, packed at once: element by element costs more than the rows."""

import struct
from collections.abc import Sequence
from typing import Any

from psycopg.adapt import AdaptersMap, Buffer, Dumper
from psycopg.pq import Format

_TEXT, _TEXT_ARRAY, _TIMESTAMPTZ, _TIMESTAMPTZ_ARRAY = 25, 1009, 1184, 1185
_LENGTH = struct.Struct("!i")
_NULL = _LENGTH.pack(-1)


class Texts(list[bytes | None]):
    """Text in the connection's encoding, sent as text[]."""


class Moments(list[bytes]):
    """The wire form of instants, sent as timestamptz[]."""


class _TextsDumper(Dumper):
    format = Format.BINARY
    oid = _TEXT_ARRAY

    def dump(self, obj: Any) -> Buffer:
        return _pack(_TEXT, obj)


class _MomentsDumper(Dumper):
    format = Format.BINARY
    oid = _TIMESTAMPTZ_ARRAY

    def dump(self, obj: Any) -> Buffer:
        return _pack(_TIMESTAMPTZ, obj)


def register(adapters: AdaptersMap) -> None:
    """Has a cursor send them."""
    adapters.register_dumper(Texts, _TextsDumper)
    adapters.register_dumper(Moments, _MomentsDumper)


def _pack(element: int, values: Sequence[bytes | None]) -> bytes:
    packed = b"".join([_NULL if value is None else _LENGTH.pack(len(value)) + value for value in values])
    return struct.pack("!iiiii", 1, 1, element, len(values), 1) + packed
