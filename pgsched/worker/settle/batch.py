"""Outcomes that are settled together."""

from collections import Counter, defaultdict
from collections.abc import Collection
from datetime import timedelta
from enum import Enum, auto
from typing import Any, NamedTuple

from pgsched.domain.execution import Execution
from pgsched.store.core.isolation import clean
from pgsched.store.ends.deferred import AcceptedRow
from pgsched.store.gates.gates import HeldRow
from pgsched.store.live.executions import Finished, Group, PostponedRow

Turn = tuple[int, str, str]
"""Partition, client and ordering key."""


class How(Enum):
    """The statement that settles a row."""

    SUCCEED = auto()
    DISCARD = auto()
    RELEASE = auto()
    CUT_SHORT = auto()
    POSTPONE = auto()
    FINISH = auto()
    DEFER = auto()
    HOLD = auto()


class Entry(NamedTuple):
    """How a row is settled. ``what`` is the status code of a success, the instant of a row that is handed back, or what
    the statement is told of the row. ``turn`` is the ordering key of a row that ends, ``job`` its job, if that counts
    the outcomes of its runs."""

    partition: int
    token: int
    how: How
    what: Any = None
    turn: Turn | None = None
    job: bytes | None = None


class Batch:
    """Outcomes that are settled together, by their rows' ids."""

    def __init__(self, rows: dict[bytes, Entry] | None = None) -> None:
        self.rows = {} if rows is None else rows

    def __len__(self) -> int:
        return len(self.rows)

    def succeed(self, row: Execution, code: int | None) -> None:
        self.rows[row.id] = Entry(row.partition, row.token, How.SUCCEED, code, _turn(row))

    def discard(self, row: Execution) -> None:
        self.rows[row.id] = Entry(row.partition, row.token, How.DISCARD, None, _turn(row))

    def release(self, row: Execution, *, by_drain: bool = False) -> None:
        """Hands a row back."""
        how = How.CUT_SHORT if by_drain else How.RELEASE
        self.rows[row.id] = Entry(row.partition, row.token, how, row.fire_at)

    def finish(self, row: Execution, outcome: str, seconds: float | None, *, counts: bool, **told: Any) -> None:
        """Takes an outcome other than a plain success. ``counts`` says that the row's job counts its failures; ``told``
        are the further fields of ``Finished``."""
        given = {"status_code": None, "result": None, "reason": None} | told
        what = Finished(id=row.id, token=row.token, outcome=outcome, seconds=seconds, **given)
        job = row.job_id if counts else None
        self.rows[row.id] = Entry(row.partition, row.token, How.FINISH, what, _turn(row), job)

    def postpone(self, row: Execution, after: timedelta, reason: str | None) -> None:
        what = PostponedRow(row.id, row.token, after.total_seconds(), reason)
        self.rows[row.id] = Entry(row.partition, row.token, How.POSTPONE, what)

    def defer(self, row: Execution, seconds: float) -> None:
        self.rows[row.id] = Entry(row.partition, row.token, How.DEFER, AcceptedRow(row.id, row.token, seconds))

    def hold(self, row: Execution, gate: str) -> None:
        """Makes a row wait behind a gate."""
        self.rows[row.id] = Entry(row.partition, row.token, How.HOLD, HeldRow(row.id, row.token, gate))

    def leases(self) -> list[tuple[bytes, int]]:
        """(id, token) of everything in the batch."""
        return [(id, row.token) for id, row in self.rows.items()]

    def only(self, ids: Collection[bytes]) -> "Batch":
        """The part of the batch that concerns these rows."""
        return Batch({id: row for id, row in self.rows.items() if id in ids})

    def without(self, ids: Collection[bytes]) -> "Batch":
        """The part of the batch that concerns all other rows."""
        return Batch({id: row for id, row in self.rows.items() if id not in ids})

    def in_two(self, most: int) -> tuple["Batch", "Batch"]:
        """Itself with at most so many rows that have an ordering key, of each client in turn; and the rest."""
        keyed = [(id, row.turn) for id, row in self.rows.items() if row.turn is not None]
        if len(keyed) <= most:
            return self, Batch()
        counts, places = Counter[str](), list[tuple[int, int, bytes]]()
        for place, (id, (_, client, _)) in enumerate(keyed):
            places.append((counts[client], place, id))
            counts[client] += 1
        later = {id for _, _, id in sorted(places)[most:]}
        return self.without(later), self.only(later)

    def without_answers(self, why: str) -> tuple["Batch", str | None]:
        """The same batch without the rows' answers, and with the reason why these cannot be stored; and how the first
        row ended, or None where none has."""
        ended, rows = None, dict(self.rows)
        for id, row in self.rows.items():
            if row.how is How.FINISH:
                said: Finished = row.what
                plain = said._replace(result=None, status_code=_code(said.status_code), reason=_told(said, why))
                rows[id] = row._replace(what=plain)
                ended = ended or ("succeeded" if said.outcome == "succeeded" else "failed")
            elif row.how in (How.SUCCEED, How.DISCARD):
                ended = ended or "succeeded"
        return Batch(rows), ended

    def by_statement(self) -> dict[How, dict[bytes, Entry]]:
        found = defaultdict[How, dict[bytes, Entry]](dict)
        for id, row in self.rows.items():
            found[row.how][id] = row
        return found

    def returning(self) -> list[tuple[int, int]]:
        """The partition and instant of each row that is handed back."""
        return [(row.partition, row.what) for row in self.rows.values() if row.how in (How.RELEASE, How.CUT_SHORT)]

    def turns(self) -> set[Turn]:
        """The ordering keys of the rows that end."""
        return {row.turn for row in self.rows.values() if row.turn is not None}


def by_partition(rows: dict[bytes, Entry]) -> dict[int, Group]:
    """The ids and tokens of rows."""
    found: dict[int, Group] = {}
    for id, row in rows.items():
        group = found.get(row.partition)
        if group is None:
            group = found[row.partition] = Group([], [])
        group.ids.append(id)
        group.tokens.append(row.token)
    return found


def told_by_partition(rows: dict[bytes, Entry]) -> dict[int, list[Any]]:
    """What a statement is told of each row."""
    found = defaultdict[int, list[Any]](list)
    for row in rows.values():
        found[row.partition].append(row.what)
    return found


def _turn(row: Execution) -> Turn | None:
    return None if row.ordering_key is None else (row.partition, row.client_id, row.ordering_key)


def _told(row: Finished, why: str) -> str:
    told = clean(row.reason or "")
    return f"{told}; what it answered cannot be stored: {why}" if told else f"what it answered cannot be stored: {why}"


def _code(code: int | None) -> int | None:
    return code if code is None or 0 <= code < 1000 else None
