"""Schedules many one-shots at once, for ``schedule_many``.

COPY, in its binary format, loads plain rows: those without a key, ordering key, labels or queue. It evaluates no
expressions, so it cannot load a row whose partition the database must compute. Other rows are set aside and inserted by
``insert … select``, a few thousand at a time. So are all rows of a role that is subject to row-level security, because
such a role may not use COPY. A row with ``on_conflict`` goes through ``pgsched.schedule_outcome``, as if scheduled
alone.
"""

import asyncio
import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import groupby, islice
from typing import Any, NamedTuple
from uuid import UUID

from psycopg import AsyncCursor

from pgsched.domain.queue_partitions import PARTITION_BITS, PARTITIONS_PER_QUEUE
from pgsched.store.core.sql import statement
from pgsched.store.core.wire import Instants, Texts, microseconds

Parameters = dict[str, Texts | Instants]
_HEADER = b"PGCOPY\n\xff\r\n\0" + bytes(8)
_TRAILER = struct.pack("!h", -1)
_NULL = struct.pack("!i", -1)
_FIXED = struct.Struct("!hiQQihiq")  # the number of columns; then id, partition and fire_at, each after its length
_LENGTH = struct.Struct("!i")
_VERSIONED_LENGTH = struct.Struct("!ib")  # of jsonb: the length includes the version byte that follows it
_SLOT_BITS = (PARTITIONS_PER_QUEUE - 1).bit_length()
_CHANCE_BITS = 61 - PARTITION_BITS
_PLACED, _RANDOM = 0b101 << 61, (1 << _CHANCE_BITS) - 1  # the UUID variant, and the mark that a partition follows
_ID_STEP = 16  # in 1/4096 ms, the time unit of ids; writing a row takes longer than one step
_BLOCK, _ASIDE, _ASIDE_BYTES = 256, 5000, 1 << 26
_ID_BYTES = slice(6, 22)  # of the fixed fields
_NO_ID = bytes(16)
_REMEMBERED = 10_000


class OneShot(NamedTuple):
    """One execution to schedule; ``payload``, ``options`` and ``labels`` are JSON. Without ``on_conflict``, a key that
    is in use makes the whole load fail.
    """

    target: str
    fire_at: datetime
    payload: bytes | None
    client: str
    key: str | None
    ordering_key: str | None
    queue: str
    options: bytes | None
    on_conflict: str | None = None
    labels: bytes | None = None


class Start(NamedTuple):
    """The result of ``schedule/start_many``: when the transaction began, the clock in milliseconds, and whether this
    role may not use COPY.
    """

    now: datetime
    milliseconds: int
    without_copy: bool


class Aside(NamedTuple):
    """A statement for some of the rows set aside. ``columns`` are its parameters, each with a value for every row;
    ``places`` are the positions of these rows in the load. The statement returns an id and an outcome for each row.
    """

    statement: str
    columns: dict[str, tuple[Any, ...]]
    places: tuple[int, ...]

    def parameters(self, encoding: str) -> Parameters:
        """Returns the columns in the types that psycopg sends fastest."""
        texts = {name: values for name, values in self.columns.items() if name != "fire_at"}
        found: Parameters = {name: Texts(_encoded(value, encoding) for value in texts[name]) for name in texts}
        return found | {"fire_at": Instants(map(microseconds, self.columns["fire_at"]))}


@dataclass(slots=True, kw_only=True)
class Load:
    """Turns the one-shots of an iterator into blocks for ``schedule/copy_many``, and into parameters for statements
    that insert from arrays.

    Once everything has been sent, ``ids`` holds the sixteen bytes of each row's id, in order. ``outcomes`` holds, by
    position, the outcomes other than ``created``.
    """

    start: Start
    encoding: str
    orders: Iterator[OneShot]
    count: int = 0
    exhausted: bool = False
    ids: bytearray = field(default_factory=bytearray)
    outcomes: dict[int, str] = field(default_factory=dict)
    _aside: list[tuple[int, OneShot]] = field(default_factory=list)
    _weight: int = 0
    _words: dict[str, bytes] = field(default_factory=dict)

    def blocks(self) -> Iterator[bytes]:
        """Yields the data of one COPY: up to the end of the input, or until enough rows have been set aside."""
        yield _HEADER
        while not (self.exhausted or self._is_full):
            if block := self._block():
                yield block
        yield _TRAILER

    def fill(self) -> None:
        """For a role that may not use COPY: sets rows aside until the input ends or enough have been set aside."""
        while not (self.exhausted or self._is_full):
            for order in self._take():
                self._put_aside(order)

    def set_aside(self) -> Iterator[Aside]:
        """Yields statements for the rows set aside since the last call, in order."""
        taken, self._aside, self._weight = self._aside, [], 0
        for name, run in groupby(taken, key=lambda found: _statement_for(found[1])):
            places, orders = zip(*run, strict=True)
            yield Aside(name, dict(zip(OneShot._fields, zip(*orders, strict=True), strict=True)), places)

    def note(self, aside: Aside, answered: list[tuple[Any, str]]) -> None:
        """Stores the result of a statement for rows that were set aside."""
        for place, (id, outcome) in zip(aside.places, answered, strict=True):
            self.ids[16 * place : 16 * place + 16] = (id if isinstance(id, UUID) else UUID(str(id))).bytes
            if outcome != "created":
                self.outcomes[place] = outcome

    @property
    def _is_full(self) -> bool:
        return len(self._aside) >= _ASIDE or self._weight >= _ASIDE_BYTES

    def _put_aside(self, order: OneShot) -> None:
        self._aside.append((len(self.ids) // 16, order))
        self.ids += _NO_ID
        self._weight += len(order.payload or b"")

    def _take(self) -> list[OneShot]:
        taken = [*islice(self.orders, _BLOCK)]
        self.exhausted = len(taken) < _BLOCK
        self.count += len(taken)
        return taken

    def _block(self) -> bytes:
        stamp = (self.start.milliseconds << 12) + self.count * _ID_STEP
        chances = struct.unpack(f"!{_BLOCK}Q", os.urandom(8 * _BLOCK))
        words = self._words
        pieces: list[bytes] = []
        for order, chance in zip(self._take(), chances, strict=False):
            target, fire_at, payload, client, key, ordering_key, queue, options, on_conflict, labels = order
            if not (labels is None and key is ordering_key is on_conflict is None and queue == "default"):
                self._put_aside(order)
                continue
            stamp += _ID_STEP
            fixed = _fixed(stamp, chance, fire_at)
            self.ids += fixed[_ID_BYTES]
            pieces += (
                fixed,
                words.get(client) or self._word(client),
                words.get(target) or self._word(target),
                _NULL if payload is None else self._json(payload),
                _NULL if options is None else self._json(options),
            )
        return b"".join(pieces)

    def _word(self, text: str) -> bytes:
        """Returns text as a COPY field. Memoised, because targets and clients repeat."""
        data = text.encode(self.encoding)
        if len(self._words) >= _REMEMBERED:
            self._words.clear()
        self._words[text] = word = _LENGTH.pack(len(data)) + data
        return word

    def _json(self, data: bytes) -> bytes:
        data = _recoded(data, self.encoding)
        return _VERSIONED_LENGTH.pack(len(data) + 1, 1) + data


def _encoded(value: str | bytes | None, encoding: str) -> bytes | None:
    if value is None:
        return None
    return value.encode(encoding) if isinstance(value, str) else _recoded(value, encoding)


def _recoded(json: bytes, encoding: str) -> bytes:
    return json if encoding == "utf-8" else json.decode().encode(encoding)


def _statement_for(order: OneShot) -> str:
    if order.on_conflict is not None:
        return "schedule/place_many"
    return "schedule/insert_plain" if _is_plain(order) else "schedule/insert_many"


def _is_plain(order: OneShot) -> bool:
    """Whether COPY can load a row."""
    others = order.key, order.ordering_key, order.on_conflict, order.labels
    return others == (None, None, None, None) and order.queue == "default"


def _fixed(stamp: int, chance: int, fire_at: datetime) -> bytes:
    """Returns the first fields of a row: an id that contains the partition, a random partition, and the instant."""
    partition = chance >> 64 - _SLOT_BITS
    return _FIXED.pack(
        7,
        16,
        (stamp >> 12 << 16) | 0x7000 | (stamp & 0xFFF),
        _PLACED | partition << _CHANCE_BITS | chance & _RANDOM,
        2,
        partition,
        8,
        microseconds(fire_at),
    )


async def send(cursor: AsyncCursor[Any], load: Load) -> None:
    """Sends all of a load in the cursor's transaction."""
    while not load.exhausted:
        if load.start.without_copy:
            load.fill()
        else:
            async with cursor.copy(statement("schedule/copy_many")) as copy:
                for block in load.blocks():
                    await copy.write(block)
                    await asyncio.sleep(0)  # lets other tasks run: a write that does not block never yields
        for aside in load.set_aside():
            await cursor.execute(statement(aside.statement), aside.parameters(load.encoding))
            load.note(aside, await cursor.fetchall())


def due(start: Start, delay: timedelta | None) -> datetime:
    """Returns the instant after a delay, counted from the start of the transaction as the database does."""
    return start.now if delay is None else start.now + delay
