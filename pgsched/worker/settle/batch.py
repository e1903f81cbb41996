"""Batches of outcomes."""

from collections import Counter, defaultdict
from collections.abc import Collection
from datetime import timedelta
from operator import attrgetter
from typing import Any

from pgsched.domain.execution import ClaimedExecution
from pgsched.store.core.culprits import clean
from pgsched.store.ends.completed_later import AcceptedRow
from pgsched.store.gates.gates import HeldRow
from pgsched.store.live.executions import AT_ONCE, AnsweredRow, Finished, Group, PostponedRow, Times

ByPartition = dict[int, Group]
DISCARDED, RELEASED, CUT_SHORT = ("discarded", None), ("released", None), ("cut_short", None)


class Batch:
    """Outcomes that are settled together, grouped by statement and partition."""

    def __init__(self) -> None:
        self.count = 0
        self.groups = defaultdict[tuple[str, int | None], ByPartition](dict)
        """Rows that are settled by id and token alone, by statement and status code."""
        self.answered = defaultdict[int, list[AnsweredRow]](list)
        self.finished = defaultdict[int, list[Finished]](list)
        self.postponed = defaultdict[int, list[PostponedRow]](list)
        self.deferred = defaultdict[int, list[AcceptedRow]](list)
        self.held = defaultdict[int, list[HeldRow]](list)
        self.answers: tuple[dict[int, list[Any]], ...] = (
            self.answered, self.finished, self.postponed, self.deferred, self.held,
        )  # fmt: skip
        self.returning: dict[int, int] = {}
        self.short = AT_ONCE
        """The times of the longest short attempt, which are kept for all of them."""
        self.keys: dict[bytes, tuple[int, str, str]] = {}
        """The partition, client and ordering key of each row that ends, by id."""
        self.jobs: dict[bytes, bytes] = {}
        """The job of each row that ends, by the row's id, if the job counts the outcomes of its runs."""

    def succeed(self, row: ClaimedExecution, code: int | None) -> None:
        """Adds a plain success after a short attempt."""
        self._add(self.groups["succeeded", code], row)
        if row.ordering_key is not None:
            self._end(row)

    def succeed_with(self, row: ClaimedExecution, code: int | None, result: str | None, times: Times) -> None:
        self.count += 1
        self.answered[row.partition].append(AnsweredRow(row.id, row.token, code, result, times))
        if row.ordering_key is not None:
            self._end(row)

    def discard(self, row: ClaimedExecution) -> None:
        self._add(self.groups[DISCARDED], row)
        if row.ordering_key is not None:
            self._end(row)

    def release(self, row: ClaimedExecution, *, by_drain: bool = False, ended: bool = False) -> None:
        """Adds a row to be handed back. Unless a drain cuts the row short, its call is over. ``returning`` maps
        each partition to the earliest instant of its rows to be handed back."""
        if ended or not by_drain:
            self._end_call(row)
        self._add(self.groups[CUT_SHORT if by_drain else RELEASED], row)
        self.returning[row.partition] = min(row.fire_at, self.returning.get(row.partition, row.fire_at))

    def finish(self, row: ClaimedExecution, outcome: str, times: Times | None, *, counts: bool, **told: Any) -> None:
        """Adds an outcome other than a plain success. ``counts`` is True if the row's job counts failures. ``told``
        contains further fields of ``Finished``."""
        self.count += 1
        if row.ordering_key is not None:
            self._end(row)
        if counts and row.job_id is not None:
            self.jobs[row.id] = row.job_id
        given = {"status_code": None, "result": None, "reason": None} | told
        self.finished[row.partition].append(Finished(id=row.id, token=row.token, outcome=outcome, times=times, **given))

    def postpone(self, row: ClaimedExecution, after: timedelta, reason: str | None) -> None:
        self.count += 1
        self._end_call(row)
        self.postponed[row.partition].append(PostponedRow(row.id, row.token, after.total_seconds(), reason))

    def defer(self, row: ClaimedExecution, seconds: float) -> None:
        self.count += 1
        self._end_call(row)
        self.deferred[row.partition].append(AcceptedRow(row.id, row.token, seconds))

    def hold(self, row: ClaimedExecution, gate: str) -> None:
        """Adds a row to be held at a gate."""
        self.count += 1
        self._end_call(row)
        self.held[row.partition].append(HeldRow(row.id, row.token, gate))

    @property
    def succeeded(self) -> dict[int | None, ByPartition]:
        """Plain successes, by status code."""
        return {code: groups for (outcome, code), groups in self.groups.items() if outcome == "succeeded"}

    def rows(self) -> list[tuple[bytes, int]]:
        """Returns the id and token of each row in the batch."""
        return [pair for group in self.by_partition().values() for pair in zip(group.ids, group.tokens, strict=True)]

    def only(self, ids: Collection[bytes]) -> "Batch":
        part = Batch()
        for which, groups in self.groups.items():
            if found := _of(groups, ids):
                part.groups[which] = found
        for answers, some in zip(self.answers, part.answers, strict=True):
            of_these = {p: [row for row in rows if row.id in ids] for p, rows in answers.items()}
            some.update({p: rows for p, rows in of_these.items() if rows})
        part.returning = {p: self.returning[p] for which in (RELEASED, CUT_SHORT) for p in part.groups[which]}
        part.keys = {id: key for id, key in self.keys.items() if id in ids}
        part.jobs = {id: job for id, job in self.jobs.items() if id in ids}
        part.short, part.count = self.short, len(part.rows())
        return part

    def in_two(self, most: int) -> tuple["Batch", "Batch"]:
        """Splits the batch in two. The first part has up to ``most`` rows with an ordering key, taken from each client
        in turn."""
        if len(self.keys) <= most:
            return self, Batch()
        later = set(self._keyed_by_turns()[most:])
        return self.only({id for id, _ in self.rows()} - later), self.only(later)

    def add(self, other: "Batch") -> None:
        for which, groups in other.groups.items():
            _join(self.groups[which], groups)
        for answers, more in zip(self.answers, other.answers, strict=True):
            for partition, rows in more.items():
                answers[partition].extend(rows)
        for partition, instant in other.returning.items():
            self.returning[partition] = min(instant, self.returning.get(partition, instant))
        self.short = max(self.short, other.short, key=attrgetter("seconds"))
        self.keys |= other.keys
        self.jobs |= other.jobs
        self.count += other.count

    def without_answers(self, why: str) -> tuple["Batch", str | None]:
        """Returns the batch with each result replaced by ``why``, the reason why results cannot be stored. For a batch
        of one row, also returns how the row ended, or None if it has not ended."""
        plain = self.only({id for id, _ in self.rows()})
        ended = "succeeded" if plain.succeeded or plain.groups[DISCARDED] else None
        for partition, answered in plain.answered.items():
            ends = [
                Finished(row.id, row.token, "succeeded", row.status_code, None, None, row.times) for row in answered
            ]
            plain.finished[partition].extend(ends)
        plain.answered.clear()
        for partition, rows in plain.finished.items():
            ended = "succeeded" if rows[0].outcome == "succeeded" else "failed"
            plain.finished[partition] = [
                row._replace(result=None, status_code=_code(row.status_code), reason=_told(row, why), traceback=None)
                for row in rows
            ]
        return plain, ended

    def by_partition(self) -> ByPartition:
        """Returns all rows, by partition."""
        found: ByPartition = {}
        for groups in self.groups.values():
            _join(found, groups)
        for answers in self.answers:
            for partition, some in answers.items():
                group = found.setdefault(partition, Group([], []))
                group.ids.extend(row.id for row in some)
                group.tokens.extend(row.token for row in some)
        return found

    @property
    def ended_keys(self) -> dict[int, set[tuple[str, str]]]:
        """The ordering keys of the rows that end, by partition."""
        found: dict[int, set[tuple[str, str]]] = {}
        for partition, client, key in self.keys.values():
            found.setdefault(partition, set()).add((client, key))
        return found

    def _keyed_by_turns(self) -> list[bytes]:
        """Returns the ids of rows with an ordering key: each client's first row, then each second row, and so on."""
        counts, turns = Counter[str](), list[tuple[int, int, bytes]]()
        for place, (id, (_, client, _)) in enumerate(self.keys.items()):
            turns.append((counts[client], place, id))
            counts[client] += 1
        return [id for _, _, id in sorted(turns)]

    def _end_call(self, row: ClaimedExecution) -> None:
        """Records that the row's call is over. If the row was cancelled, the next row with its ordering key waits for
        the end of the call. A row that was not cancelled stays at the head of its key."""
        if row.ordering_key is not None:
            self._end(row)

    def _end(self, row: ClaimedExecution) -> None:
        self.keys[row.id] = (row.partition, row.client_id, str(row.ordering_key))

    def _add(self, groups: ByPartition, row: ClaimedExecution) -> None:
        self.count += 1
        group = groups.get(row.partition)
        if group is None:
            group = groups[row.partition] = Group([], [])
        group.ids.append(row.id)
        group.tokens.append(row.token)


def _told(row: Finished, why: str) -> str:
    told = clean(row.reason or "")
    return f"{told}; the result cannot be stored: {why}" if told else f"the result cannot be stored: {why}"


def _code(code: int | None) -> int | None:
    return code if code is None or 0 <= code < 1000 else None


def _of(groups: ByPartition, ids: Collection[bytes]) -> ByPartition:
    found: ByPartition = {}
    for partition, group in groups.items():
        pairs = [pair for pair in zip(group.ids, group.tokens, strict=True) if pair[0] in ids]
        if pairs:
            found[partition] = Group([id for id, _ in pairs], [token for _, token in pairs])
    return found


def _join(groups: ByPartition, others: ByPartition) -> None:
    for partition, other in others.items():
        group = groups.setdefault(partition, Group([], []))
        group.ids.extend(other.ids)
        group.tokens.extend(other.tokens)
