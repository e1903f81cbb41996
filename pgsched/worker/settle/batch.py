"""Outcomes that are settled together."""

from collections import Counter
from collections.abc import Collection
from typing import TypeVar

from pgsched.domain.execution import Execution
from pgsched.domain.outcome import Finish, Postpone, RetryAfter
from pgsched.store.core.isolation import clean
from pgsched.store.ends.deferred import Parked
from pgsched.store.gates.gates import HeldRow
from pgsched.store.jobs.definitions import counts_failures
from pgsched.store.live.executions import Finished, Group, Postponed, Retried

_Ended = TypeVar("_Ended", Finished, Retried, Postponed, Parked, HeldRow)


class Batch:
    """Outcomes that are settled together, by partition and statement."""

    def __init__(self) -> None:
        self.count = 0
        self.succeeded: dict[int | None, dict[int, Group]] = {}
        self.discarded: dict[int, Group] = {}
        self.released: dict[int, Group] = {}
        self.cut_short: dict[int, Group] = {}
        self.finished: dict[int, list[Finished]] = {}
        self.retried: dict[int, list[Retried]] = {}
        self.postponed: dict[int, list[Postponed]] = {}
        self.parked: dict[int, list[Parked]] = {}
        self.held: dict[int, list[HeldRow]] = {}
        self.returning: dict[int, int] = {}
        self.keys: dict[bytes, tuple[int, str, str]] = {}
        """Of what ends, by id: partition, client and ordering key."""
        self.jobs: dict[bytes, bytes] = {}
        """Of what ends, by id: the job that counts its runs' outcomes."""

    def succeed(self, row: Execution, code: int | None) -> None:
        self._add(self.succeeded.setdefault(code, {}), row)
        if row.ordering_key is not None:
            self._end(row)

    def discard(self, row: Execution) -> None:
        self._add(self.discarded, row)
        if row.ordering_key is not None:
            self._end(row)

    def release(self, row: Execution, *, by_drain: bool = False) -> None:
        """Hands it back; ``returning`` has the earliest instant that then waits again in each partition."""
        self._add(self.cut_short if by_drain else self.released, row)
        self.returning[row.partition] = min(row.fire_at, self.returning.get(row.partition, row.fire_at))

    def finish(self, row: Execution, end: Finish, seconds: float) -> None:
        self.count += 1
        if row.ordering_key is not None:
            self._end(row)
        if row.job_id is not None and counts_failures(row.job_id):
            self.jobs[row.id] = row.job_id
        self.finished.setdefault(row.partition, []).append(
            Finished(
                row.id, row.token, end.status, end.status_code, end.result, end.reason, seconds if end.begun else None
            )
        )

    def retry(self, row: Execution, retry: RetryAfter, seconds: float) -> None:
        self.count += 1
        delay = retry.after.total_seconds()
        self.retried.setdefault(row.partition, []).append(
            Retried(row.id, row.token, delay, retry.status_code, retry.error, seconds)
        )

    def postpone(self, row: Execution, postpone: Postpone) -> None:
        self.count += 1
        seconds = postpone.after.total_seconds()
        self.postponed.setdefault(row.partition, []).append(Postponed(row.id, row.token, seconds, postpone.reason))

    def park(self, row: Execution, seconds: float) -> None:
        self.count += 1
        self.parked.setdefault(row.partition, []).append(Parked(row.id, row.token, seconds))

    def hold(self, row: Execution, gate: str) -> None:
        """Has it wait behind a gate."""
        self.count += 1
        self.held.setdefault(row.partition, []).append(HeldRow(row.id, row.token, gate))

    def rows(self) -> list[tuple[bytes, int]]:
        """(id, token) of everything in the batch."""
        groups = [group for groups in self.succeeded.values() for group in groups.values()]
        groups += [*self.discarded.values(), *self.released.values(), *self.cut_short.values()]
        pairs = [pair for group in groups for pair in zip(group.ids, group.tokens, strict=True)]
        pairs.extend((row.id, row.token) for rows in self.finished.values() for row in rows)
        pairs.extend((row.id, row.token) for rows in self.retried.values() for row in rows)
        pairs.extend((row.id, row.token) for rows in self.postponed.values() for row in rows)
        pairs.extend((row.id, row.token) for rows in self.parked.values() for row in rows)
        pairs.extend((row.id, row.token) for rows in self.held.values() for row in rows)
        return pairs

    def outcomes(self) -> Counter[str]:
        """How many came to what: the status in which they end, or what becomes of them instead."""
        found = Counter(row.status for rows in self.finished.values() for row in rows)
        for groups in [*self.succeeded.values(), self.discarded]:
            found["succeeded"] += sum(len(group.ids) for group in groups.values())
        handed_back = [*self.released.values(), *self.cut_short.values()]
        found["released"] = sum(len(group.ids) for group in handed_back)
        found["retrying"] = sum(map(len, self.retried.values()))
        found["postponed"] = sum(map(len, self.postponed.values()))
        found["deferred"] = sum(map(len, self.parked.values()))
        found["held"] = sum(map(len, self.held.values()))
        return +found

    def only(self, ids: Collection[bytes]) -> "Batch":
        """What it has of these rows."""
        part = Batch()
        part.succeeded = {code: found for code, groups in self.succeeded.items() if (found := _of(groups, ids))}
        part.discarded, part.released = _of(self.discarded, ids), _of(self.released, ids)
        part.cut_short = _of(self.cut_short, ids)
        part.finished = {p: ends for p, rows in self.finished.items() if (ends := _among(rows, ids))}
        part.retried = {p: tries for p, rows in self.retried.items() if (tries := _among(rows, ids))}
        part.parked = {p: taken for p, rows in self.parked.items() if (taken := _among(rows, ids))}
        part.postponed = {p: later for p, rows in self.postponed.items() if (later := _among(rows, ids))}
        part.held = {p: some for p, rows in self.held.items() if (some := _among(rows, ids))}
        part.returning = {p: self.returning[p] for p in [*part.released, *part.cut_short]}
        part.keys = {id: key for id, key in self.keys.items() if id in ids}
        part.jobs = {id: job for id, job in self.jobs.items() if id in ids}
        part.count = len(part.rows())
        return part

    def in_two(self, most: int) -> tuple["Batch", "Batch"]:
        """Itself with no more than so many that have an ordering key, of each client in turn, and the rest."""
        if len(self.keys) <= most:
            return self, Batch()
        later = set(self._keyed_by_turns()[most:])
        return self.only({id for id, _ in self.rows()} - later), self.only(later)

    def add(self, other: "Batch") -> None:
        """Takes over what another one has."""
        for code, groups in other.succeeded.items():
            _join(self.succeeded.setdefault(code, {}), groups)
        _join(self.discarded, other.discarded)
        _join(self.released, other.released)
        _join(self.cut_short, other.cut_short)
        for partition, finished in other.finished.items():
            self.finished.setdefault(partition, []).extend(finished)
        for partition, retried in other.retried.items():
            self.retried.setdefault(partition, []).extend(retried)
        for partition, postponed in other.postponed.items():
            self.postponed.setdefault(partition, []).extend(postponed)
        for partition, parked in other.parked.items():
            self.parked.setdefault(partition, []).extend(parked)
        for partition, held in other.held.items():
            self.held.setdefault(partition, []).extend(held)
        for partition, instant in other.returning.items():
            self.returning[partition] = min(instant, self.returning.get(partition, instant))
        self.keys |= other.keys
        self.jobs |= other.jobs
        self.count += other.count

    def without_answers(self, why: str) -> tuple["Batch", str | None]:
        """The same without what rows answered, and with the reason that this cannot be stored; and how the first of
        them ended, None where none has."""
        plain = self.only({id for id, _ in self.rows()})
        ended = "succeeded" if plain.succeeded or plain.discarded else None
        for partition, rows in plain.finished.items():
            ended = rows[0].status
            plain.finished[partition] = [
                row._replace(result=None, status_code=_code(row.status_code), reason=_told(row, why)) for row in rows
            ]
        for partition, tries in plain.retried.items():
            ended = "failed"
            plain.retried[partition] = [
                row._replace(status_code=_code(row.status_code), reason=clean(row.reason)) for row in tries
            ]
        return plain, ended

    def homes(self) -> dict[int, Group]:
        """All rows, by partition."""
        found: dict[int, Group] = {}
        for groups in [*self.succeeded.values(), self.discarded, self.released, self.cut_short]:
            _join(found, groups)
        for rows in (self.finished, self.retried, self.postponed, self.parked, self.held):
            for partition, some in rows.items():
                group = found.setdefault(partition, Group([], []))
                group.ids.extend(row.id for row in some)
                group.tokens.extend(row.token for row in some)
        return found

    @property
    def ended_keys(self) -> dict[int, set[tuple[str, str]]]:
        """The ordering keys of what ends, by partition."""
        found: dict[int, set[tuple[str, str]]] = {}
        for partition, client, key in self.keys.values():
            found.setdefault(partition, set()).add((client, key))
        return found

    def _keyed_by_turns(self) -> list[bytes]:
        """Those with an ordering key: the first of each client, then the second of each, and so on."""
        counts, turns = Counter[str](), list[tuple[int, int, bytes]]()
        for place, (id, (_, client, _)) in enumerate(self.keys.items()):
            turns.append((counts[client], place, id))
            counts[client] += 1
        return [id for _, _, id in sorted(turns)]

    def _end(self, row: Execution) -> None:
        self.keys[row.id] = (row.partition, row.client_id, str(row.ordering_key))

    def _add(self, groups: dict[int, Group], row: Execution) -> None:
        self.count += 1
        group = groups.get(row.partition)
        if group is None:
            group = groups[row.partition] = Group([], [])
        group.ids.append(row.id)
        group.tokens.append(row.token)


def _among(rows: list[_Ended], ids: Collection[bytes]) -> list[_Ended]:
    return [row for row in rows if row.id in ids]


def _told(row: Finished, why: str) -> str:
    told = clean(row.reason or "")
    return f"{told}; what it answered cannot be stored: {why}" if told else f"what it answered cannot be stored: {why}"


def _code(code: int | None) -> int | None:
    return code if code is None or 0 <= code < 1000 else None


def _of(groups: dict[int, Group], ids: Collection[bytes]) -> dict[int, Group]:
    found: dict[int, Group] = {}
    for partition, group in groups.items():
        pairs = [pair for pair in zip(group.ids, group.tokens, strict=True) if pair[0] in ids]
        if pairs:
            found[partition] = Group([id for id, _ in pairs], [token for _, token in pairs])
    return found


def _join(groups: dict[int, Group], others: dict[int, Group]) -> None:
    for partition, other in others.items():
        group = groups.setdefault(partition, Group([], []))
        group.ids.extend(other.ids)
        group.tokens.extend(other.tokens)
