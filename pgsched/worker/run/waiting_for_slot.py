"""Rows in hand that wait for a slot (``delivery.slots``), outside the lanes.

Such rows have not begun: no timeout runs, they do not count as attempts, and their leases are renewed like those of all
rows in hand. Free slots go in turn to the waiting clients that may take another slot.

A row that has waited too long is postponed for a moment, and the reason is stored in the row. This makes room for other
due rows, and another worker may have a slot for the postponed row. If the row's own client uses the slots, the row is
postponed for longer.
"""

import random
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta

from pgsched.delivery.slots import Slots
from pgsched.domain.attempt_outcome import NO_SLOT, Outcome, Released
from pgsched.domain.execution import ClaimedExecution
from pgsched.domain.execution_options import DEFAULT_OPTIONS, Options
from pgsched.telemetry import Events

_Rows = deque[tuple[float, ClaimedExecution]]
Settle = Callable[[ClaimedExecution, Options, Outcome, float], None]
_LONGEST_WAIT = 1.0
_LEFT_ALONE = 1.0, 2.0  # seconds for which a row is postponed, so that other workers may claim it
_OF_ITS_OWN_MAKING = 5.0, 10.0
_TELL_EVERY = 10.0


class WaitingForSlot:
    """Rows that wait for slots. Passes each row to ``resume`` when it has a slot. Times are monotonic seconds."""

    def __init__(self, resume: Callable[[ClaimedExecution], None]) -> None:
        self._resume = resume
        self._rows: dict[Slots, dict[str, _Rows]] = {}
        self._resumed: dict[bytes, float] = {}
        self._wanted: dict[tuple[str, str], Slots] = {}
        self.count = 0

    def add(self, slots: Slots, row: ClaimedExecution, now: float) -> None:
        """Adds a row that found no slot. A row that was resumed a moment ago but still found no slot keeps its turn."""
        clients = self._rows.get(slots)
        if clients is None:
            clients = self._rows[slots] = {}
            slots.freed = self._freed
        rows = clients.setdefault(row.client_id, deque())
        since = self._resumed.pop(row.id, None)
        if since is None:
            rows.append((now, row))
            self._wanted[row.client_id, row.target] = slots
        else:
            rows.appendleft((since, row))
        self.count += 1

    def join(self, row: ClaimedExecution, now: float) -> bool:
        """Adds a row if another row of its client already waits for a slot of the same target, so that the row need not
        try to begin. Returns whether the row was added."""
        if row.id in self._resumed:
            return False
        slots = self._wanted.get((row.client_id, row.target))
        clients = self._rows.get(slots) if slots else None
        if clients is None or row.client_id not in clients:
            return False
        clients[row.client_id].append((now, row))
        self.count += 1
        return True

    def by_client(self) -> Counter[str]:
        """Returns the number of waiting rows of each client."""
        found: Counter[str] = Counter()
        for clients in self._rows.values():
            for client, rows in clients.items():
                found[client] += len(rows)
        return found

    def look(self) -> None:
        """Resumes as many rows as there are free slots, because resumed rows may not have taken their slots."""
        self._resumed.clear()
        self._wanted.clear()
        for slots, clients in [*self._rows.items()]:
            free = slots.free
            may = {client: min(slots.free_for(client), free) for client in clients}
            while free > 0 and (client := next((client for client in clients if may[client] > 0), None)) is not None:
                free, may[client] = free - 1, may[client] - 1
                self._resume_one(slots, client)

    def take_overdue(self, before: float) -> Iterator[tuple[Slots, list[ClaimedExecution]]]:
        """Removes the rows that began to wait before a given time, and yields them grouped by slots."""
        for slots, clients in [*self._rows.items()]:
            taken = []
            for rows in clients.values():
                while rows and rows[0][0] < before:
                    taken.append(rows.popleft()[1])
            self.count -= len(taken)
            self._forget(slots)
            if taken:
                yield slots, taken

    def take(self, wanted: Callable[[ClaimedExecution], bool]) -> list[ClaimedExecution]:
        """Removes and returns the rows that match."""
        taken = [row for row in self.copy() if wanted(row)]
        if taken:
            ids = {row.id for row in taken}
            for slots, clients in [*self._rows.items()]:
                for client, rows in clients.items():
                    clients[client] = deque(one for one in rows if one[1].id not in ids)
                self._forget(slots)
            self.count -= len(taken)
        return taken

    def copy(self) -> list[ClaimedExecution]:
        """Copies all rows, for another thread. Raises RuntimeError if they change during the copy."""
        return [row for clients in self._rows.values() for rows in clients.values() for _, row in rows]

    def _freed(self, slots: Slots) -> None:
        client = next((client for client in self._rows.get(slots, ()) if slots.free_for(client) > 0), None)
        if client is not None:
            self._resume_one(slots, client)

    def _resume_one(self, slots: Slots, client: str) -> None:
        clients = self._rows[slots]
        rows = clients.pop(client)
        since, row = rows.popleft()
        self.count -= 1
        if rows:
            clients[client] = rows  # behind the other clients
        elif not clients:
            self._forget(slots)
        self._resumed[row.id] = since
        self._resume(row)

    def _forget(self, slots: Slots) -> None:
        """Forgets clients without waiting rows, and the slots if no rows wait for them."""
        clients = self._rows[slots]
        for client in [client for client, rows in clients.items() if not rows]:
            del clients[client]
        if not clients:
            del self._rows[slots]
            slots.freed = None


class Postponing:
    """Postpones rows that have waited too long for a slot, and logs this now and then."""

    def __init__(self, waiting: WaitingForSlot, settle: Settle, events: Events) -> None:
        self._waiting, self._settle, self._events = waiting, settle, events
        self._told_at = float("-inf")

    def turn(self) -> None:
        now = time.monotonic()
        for slots, rows in self._waiting.take_overdue(now - _LONGEST_WAIT):
            own = {client: slots.why(client) for client in {row.client_id for row in rows}}
            taken = f"{NO_SLOT}, because a worker process is using all {slots.most:,} {slots.name}"
            for row in rows:
                reason = own[row.client_id]
                after = timedelta(seconds=random.uniform(*(_OF_ITS_OWN_MAKING if reason else _LEFT_ALONE)))
                self._settle(row, DEFAULT_OPTIONS, Released(after=after, reason=reason or taken), 0.0)
            if now - self._told_at >= _TELL_EVERY:
                self._told_at = now
                self._tell(slots, rows)

    def _tell(self, slots: Slots, rows: Sequence[ClaimedExecution]) -> None:
        """Logs the number of postponed rows, and the client with the most postponed rows."""
        [(client, _)] = Counter(row.client_id for row in rows).most_common(1)
        reason = slots.why(client)
        said = {"reason": reason} if reason else {}
        self._events.emit("slots.taken", slots=slots.name, most=slots.most, put_off=len(rows), client=client, **said)
