"""Outcomes that are settled together."""

from collections.abc import Iterator

from pgsched.domain.execution import Execution
from pgsched.domain.outcome import Finish, Postpone, Retry
from pgsched.store.deferred import Parked
from pgsched.store.executions import Finished, Group, Postponed, Retried


class Batch:
    """Outcomes that are settled together, by partition and statement."""

    def __init__(self) -> None:
        self.count = 0
        self.succeeded: dict[int | None, dict[int, Group]] = {}
        self.discarded: dict[int, Group] = {}
        self.released: dict[int, Group] = {}
        self.finished: dict[int, list[Finished]] = {}
        self.retried: dict[int, list[Retried]] = {}
        self.postponed: dict[int, list[Postponed]] = {}
        self.parked: dict[int, list[Parked]] = {}
        self.returning: dict[int, int] = {}
        self.ended_keys: dict[int, set[tuple[str, str]]] = {}

    def succeed(self, row: Execution, code: int | None) -> None:
        self._add(self.succeeded.setdefault(code, {}), row)
        if row.ordering_key is not None:
            self._end(row)

    def discard(self, row: Execution) -> None:
        self._add(self.discarded, row)
        if row.ordering_key is not None:
            self._end(row)

    def release(self, row: Execution) -> None:
        """Hands it back; ``returning`` has the earliest instant that then waits again in each partition."""
        self._add(self.released, row)
        self.returning[row.partition] = min(row.fire_at, self.returning.get(row.partition, row.fire_at))

    def finish(self, row: Execution, end: Finish, seconds: float) -> None:
        self.count += 1
        if row.ordering_key is not None:
            self._end(row)
        self.finished.setdefault(row.partition, []).append(
            Finished(
                row.id, row.token, end.status, end.status_code, end.result, end.reason, seconds if end.begun else None
            )
        )

    def retry(self, row: Execution, retry: Retry, seconds: float) -> None:
        self.count += 1
        delay = retry.after.total_seconds()
        self.retried.setdefault(row.partition, []).append(
            Retried(row.id, row.token, delay, retry.status_code, retry.error, seconds)
        )

    def postpone(self, row: Execution, postpone: Postpone) -> None:
        self.count += 1
        seconds = postpone.after.total_seconds()
        self.postponed.setdefault(row.partition, []).append(Postponed(row.id, row.token, seconds))

    def park(self, row: Execution, seconds: float) -> None:
        self.count += 1
        self.parked.setdefault(row.partition, []).append(Parked(row.id, row.token, seconds))

    def rows(self) -> list[tuple[bytes, int]]:
        """(id, token) of everything in the batch."""
        groups = [group for groups in self.succeeded.values() for group in groups.values()]
        groups += [*self.discarded.values(), *self.released.values()]
        pairs = [pair for group in groups for pair in zip(group.ids, group.tokens, strict=True)]
        pairs.extend((row.id, row.token) for rows in self.finished.values() for row in rows)
        pairs.extend((row.id, row.token) for rows in self.retried.values() for row in rows)
        pairs.extend((row.id, row.token) for rows in self.postponed.values() for row in rows)
        pairs.extend((row.id, row.token) for rows in self.parked.values() for row in rows)
        return pairs

    def apart(self) -> Iterator["Batch"]:
        """The same outcomes, each row that carries values of its own in a batch of its own."""
        plain = Batch()
        plain.succeeded, plain.discarded, plain.released = self.succeeded, self.discarded, self.released
        plain.ended_keys, plain.parked, plain.postponed = self.ended_keys, self.parked, self.postponed
        yield plain
        for partition, ends in self.finished.items():
            for end in ends:
                single = Batch()
                single.finished = {partition: [end]}
                single.ended_keys = self.ended_keys
                yield single
        for partition, tries in self.retried.items():
            for retry in tries:
                single = Batch()
                single.retried = {partition: [retry]}
                yield single

    def _end(self, row: Execution) -> None:
        self.ended_keys.setdefault(row.partition, set()).add((row.client_id, str(row.ordering_key)))

    def _add(self, groups: dict[int, Group], row: Execution) -> None:
        self.count += 1
        group = groups.get(row.partition)
        if group is None:
            group = groups[row.partition] = Group([], [])
        group.ids.append(row.id)
        group.tokens.append(row.token)
