"""Many one-shots at once: what ``schedule_many`` sends.

Rows that need nothing but their own columns are loaded by COPY in its binary format. They are sorted by the partition
they drew, and each few hundred of one partition go straight into its table: on that there is no trigger for whose sake
PostgreSQL would insert them one by one. What is left over in the end goes into the table of all.

The partition of a row with a key, an ordering key or a queue is the database's to compute, and COPY evaluates no
expression and is refused to a role that row-level security applies to: such rows are put aside and go into one
``insert … select`` a few thousand at a time.
"""

import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import islice
from typing import LiteralString, NamedTuple

from pgsched.store.wire import LONG_AGO, Instants, Texts, Tokens, microseconds

START: LiteralString = """
select now(), (extract(epoch from clock_timestamp()) * 1000)::bigint, row_security_active('pgsched.executions'),
       (select bool_and(has_table_privilege('pgsched.executions_' || n, 'insert')) from generate_series(0, 15) n)
"""
INSERT: LiteralString = """
insert into pgsched.executions (target, payload, fire_at, client_id, key, ordering_key, partition, options)
select o.target, o.payload::jsonb, o.fire_at, o.client, o.key, o.ordering_key,
       pgsched.partition_for(o.queue, o.client, o.key, o.ordering_key), o.options::jsonb
  from unnest(%(target)s::text[], %(payload)s::text[], %(fire_at)s::timestamptz[], %(client)s::text[], %(key)s::text[],
              %(ordering_key)s::text[], %(queue)s::text[], %(options)s::text[])
         as o(target, payload, fire_at, client, key, ordering_key, queue, options)
"""

WAKE: LiteralString = """
select pgsched.notify_wake(n.partition::smallint, n.fire_at)
  from unnest(%(partitions)s, %(instants)s) as n(partition, fire_at)
"""
_COPY: LiteralString = """
copy pgsched.executions{} (id, partition, fire_at, client_id, target, payload, options) from stdin (format binary)
"""

Parameters = dict[str, Texts | Instants]
_HEADER = b"PGCOPY\n\xff\r\n\0" + bytes(8)
_TRAILER = struct.pack("!h", -1)
_NULL = struct.pack("!i", -1)
_FIXED = struct.Struct("!hiQQihiq")  # the number of columns; then id, partition and fire_at, each behind its length
_LENGTH = struct.Struct("!i")
_VERSIONED_LENGTH = struct.Struct("!ib")  # of jsonb: the length counts the byte after it, the version
_VARIANT, _RANDOM = 1 << 63, (1 << 62) - 1
_ID_STEP = 16  # in 4096ths of a millisecond, as the ids count: slower than rows can be written
_BLOCK, _ASIDE, _ASIDE_BYTES = 256, 5000, 1 << 26
_PARTITIONS, _PIECES = 16, 5  # of the default queue; of a row's data
_FEWEST, _MOST, _MOST_BYTES = 128, 2000, 1 << 20  # rows of one partition that go together, and their payloads
_SOON = timedelta(seconds=2)
_REMEMBERED = 10_000


class OneShot(NamedTuple):
    """One execution to schedule; ``payload`` and ``options`` are JSON."""

    target: str
    fire_at: datetime
    payload: bytes | None
    client: str
    key: str | None
    ordering_key: str | None
    queue: str
    options: bytes | None


class Start(NamedTuple):
    """What ``START`` answers: the transaction's instant, the clock in milliseconds, whether COPY is refused, and
    whether the tables of the partitions may be named."""

    now: datetime
    milliseconds: int
    without_copy: bool
    into_partitions: bool


class Batch(NamedTuple):
    """One COPY: the statement and all its data."""

    query: LiteralString
    data: bytes


@dataclass(slots=True, kw_only=True)
class Load:
    """Takes one-shots off an iterator and gives them out as batches for COPY and as parameters for ``INSERT``."""

    start: Start
    encoding: str
    orders: Iterator[OneShot]
    count: int = 0
    exhausted: bool = False
    _sorted: list[list[bytes]] = field(default_factory=lambda: [[] for _ in range(_PARTITIONS)])
    _weights: list[int] = field(default_factory=lambda: [0] * _PARTITIONS)
    _soon: dict[int, int] = field(default_factory=dict)
    _aside: list[OneShot] = field(default_factory=list)
    _weight: int = 0
    _words: dict[str, bytes] = field(default_factory=dict)

    def batch(self) -> Batch | None:
        """The next COPY; None when there is nothing left, or enough orders had to be put aside.

        The first ones are small, so that the server soon has something to do while the next rows are encoded.
        """
        while not (self.exhausted or self._is_full):
            self._sort()
            enough = min(max(self.count // (2 * _PARTITIONS), _FEWEST), _MOST) * _PIECES
            for partition in range(_PARTITIONS):
                if len(self._sorted[partition]) >= enough or self._weights[partition] >= _MOST_BYTES:
                    if self.start.into_partitions:
                        return _copy(f"_{partition}", self._take_sorted(partition))
                    return self._rest()
        return self._rest()

    def _rest(self) -> Batch | None:
        pieces = [piece for partition in range(_PARTITIONS) for piece in self._take_sorted(partition)]
        return _copy("", pieces) if pieces else None

    def _take_sorted(self, partition: int) -> list[bytes]:
        taken, self._sorted[partition], self._weights[partition] = self._sorted[partition], [], 0
        return taken

    def to_wake(self) -> dict[str, Tokens | Instants] | None:
        """The parameters of ``WAKE``, if any row went past the trigger that is due before a worker looks."""
        if not self._soon:
            return None
        return {"partitions": Tokens(self._soon), "instants": Instants(self._soon.values())}

    def fill(self) -> None:
        """Puts orders aside, for a role that may not COPY."""
        while not (self.exhausted or self._is_full):
            for order in self._take():
                self._put_aside(order)

    def set_aside(self) -> Parameters | None:
        """The parameters of ``INSERT`` for what was put aside since the last call, if anything was."""
        taken, self._aside, self._weight = self._aside, [], 0
        if not taken:
            return None
        columns = dict(zip(OneShot._fields, zip(*taken, strict=True), strict=True))
        instants = Instants(map(microseconds, columns.pop("fire_at")))
        texts: Parameters = {name: Texts(map(self._bytes, values)) for name, values in columns.items()}
        return {**texts, "fire_at": instants}

    def _bytes(self, value: str | bytes | None) -> bytes | None:
        if value is None:
            return None
        return value.encode(self.encoding) if isinstance(value, str) else self._recoded(value)

    @property
    def _is_full(self) -> bool:
        return len(self._aside) >= _ASIDE or self._weight >= _ASIDE_BYTES

    def _put_aside(self, order: OneShot) -> None:
        self._aside.append(order)
        self._weight += len(order.payload or b"")

    def _take(self) -> list[OneShot]:
        taken = [*islice(self.orders, _BLOCK)]
        self.exhausted = len(taken) < _BLOCK
        self.count += len(taken)
        return taken

    def _sort(self) -> None:
        """Encodes some orders and lays each with those of its partition."""
        stamp = (self.start.milliseconds << 12) + self.count * _ID_STEP
        chances = struct.unpack(f"!{_BLOCK}Q", os.urandom(8 * _BLOCK))
        soon = microseconds(self.start.now + _SOON) if self.start.into_partitions else LONG_AGO
        words, by_partition = self._words, self._sorted
        for order, chance in zip(self._take(), chances, strict=False):
            target, fire_at, payload, client, key, ordering_key, queue, options = order
            if key is not None or ordering_key is not None or queue != "default":
                self._put_aside(order)
                continue
            stamp += _ID_STEP
            partition, instant = chance >> 60, microseconds(fire_at)
            by_partition[partition] += (
                _fixed(stamp, chance, partition, instant),
                words.get(client) or self._word(client),
                words.get(target) or self._word(target),
                _NULL if payload is None else self._json(payload),
                _NULL if options is None else self._json(options),
            )
            if payload is not None:
                self._weights[partition] += len(payload)
            if instant < soon:
                self._soon[partition] = min(instant, self._soon.get(partition, instant))

    def _word(self, text: str) -> bytes:
        """Text as a field. Remembered, for targets and clients come again."""
        data = text.encode(self.encoding)
        if len(self._words) >= _REMEMBERED:
            self._words.clear()
        self._words[text] = word = _LENGTH.pack(len(data)) + data
        return word

    def _json(self, data: bytes) -> bytes:
        data = self._recoded(data)
        return _VERSIONED_LENGTH.pack(len(data) + 1, 1) + data

    def _recoded(self, json: bytes) -> bytes:
        return json if self.encoding == "utf-8" else json.decode().encode(self.encoding)


def _copy(table: str, pieces: list[bytes]) -> Batch:
    query: LiteralString = _COPY.format(table)
    return Batch(query, b"".join([_HEADER, *pieces, _TRAILER]))


def _fixed(stamp: int, chance: int, partition: int, instant: int) -> bytes:
    """The first fields of a row: an id as ``pgsched.new_id()`` makes them, the partition, the instant."""
    return _FIXED.pack(
        7,
        16,
        (stamp >> 12 << 16) | 0x7000 | (stamp & 0xFFF),
        chance & _RANDOM | _VARIANT,
        2,
        partition,
        8,
        instant,
    )


def due(start: Start, delay: timedelta | None) -> datetime:
    """The instant after so long a time, counted as the database does from the start of the transaction."""
    return start.now if delay is None else start.now + delay
