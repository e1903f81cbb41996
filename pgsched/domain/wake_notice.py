"""Parses notifications on the workers' channel, for workers and the API.

Any login can send a notification, so a notice can do no more than bring forward a poll. A text in an unknown form is
ignored, and every instant is clamped to the range that a row can have.
"""

import re
from dataclasses import dataclass
from uuid import UUID

from pgsched.domain.queue_partitions import PARTITION_BITS

CHANNEL = "pgsched_wake"
MOST_ROWS = 512  # in characters: room for one row per partition of a queue, which is what the triggers send
_ROW = re.compile(r"([0-9]{1,5})@(-?[0-9]{1,18})")
STOP = "stop "
_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
EARLIEST, LATEST = -62_135_596_800_000_000, 253_402_214_400_000_000
"""The first and last instants that a row can have, in microseconds since 1970, in the years 1 and 9999."""


@dataclass(frozen=True, slots=True)
class Notice:
    """Events that may have happened. ``rows`` are the partitions to which rows were added, each with the earliest
    instant of these rows in microseconds since 1970. ``ended`` are the ids of executions whose runs ended.
    """

    rows: tuple[tuple[int, int], ...] = ()
    ended: tuple[bytes, ...] = ()


def parse_notice(payload: str) -> Notice:
    """Parses a notification. Returns an empty notice for an unknown text. Never raises."""
    if payload.startswith(STOP):
        ids = payload.removeprefix(STOP).split(",")
        return Notice(ended=tuple(UUID(id).bytes for id in ids if _ID.fullmatch(id)))
    if len(payload) > MOST_ROWS:
        return Notice()
    found = (_ROW.fullmatch(item) for item in payload.split(","))
    rows = ((int(row[1]), min(max(int(row[2]), EARLIEST), LATEST)) for row in found if row)
    return Notice(rows=tuple((partition, instant) for partition, instant in rows if partition < 1 << PARTITION_BITS))
