"""A few rows, and the account that must be right whatever the order in which actors act on them."""

from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import LiteralString

from pgsched.domain.execution import ClaimedExecution
from pgsched.store.core.connect import Connection
from pgsched.worker.gates.admission import Admission
from tests.interleavings.stage import Actor
from tests.interleavings.workers import admission, anew, claim, note_use, reap, record

LAST = 9
"""The number of the worker that finishes what the others left."""
STATE: LiteralString = """
select e.key, 'live', e.attempt::int, e.lease_owner::int, e.begun is not null, e.gate, e.at_head,
       case when e.fire_at = 'infinity' then 'held' when e.fire_at > now() then 'later' else 'due' end
  from pgsched.executions e
union all
select h.key, h.status::text, h.attempt::int, null, null, h.reason, null, null from pgsched.history h
union all
select null, a.error, a.attempt::int, null, null, null, null, count(*)::text
  from pgsched.attempts a group by a.error, a.attempt
order by 1, 2, 3"""
INSERT: LiteralString = """
insert into pgsched.executions (client_id, key, target, fire_at, options, ordering_key, partition)
values ('shop', %(key)s::text, 'python:x', timestamptz '2020-01-01Z' + %(place)s::int * interval '1 s',
        %(options)s::jsonb, %(order)s::text,
        pgsched.partition_for('default', 'shop', %(key)s::text, %(order)s::text))"""
EMPTIED = (
    b"delete from pgsched.executions", b"delete from pgsched_internal.keys", b"delete from pgsched.history",
    b"delete from pgsched.attempts", b"delete from pgsched_internal.gates", b"delete from pgsched.audit_log",
    b"delete from pgsched.workers", b"delete from pgsched.blocked_keys",
    b"insert into pgsched.workers (id, name, queues, release, lease, expires_at) overriding system value"
    b" select unnest('{1,2,9}'::int[]), 'w', '{default}', '0', '30 s', now() + '1 h'",
)  # fmt: skip
GATE: LiteralString = "insert into pgsched_internal.gates (name, concurrency) values ('client:shop', 1)"
RATE: LiteralString = "insert into pgsched_internal.gates (name, events, period) values ('client:shop', 1, '1 h')"
WITHOUT_RATE: LiteralString = "delete from pgsched_internal.gates where events is not null"
LATER: LiteralString = "update pgsched.executions set fire_at = pgsched.now() where isfinite(fire_at)"
OVER: LiteralString = "update pgsched.blocked_keys set until = '-infinity' where until is not null"
OPENED: LiteralString = "delete from pgsched_internal.gates where shut_until is not null"
FREE: LiteralString = "update pgsched.executions set fire_at = pgsched.now(), gate = null where gate is not null"


@dataclass(kw_only=True)
class Scene:
    """Due executions of one client.

    ``limited`` allows one to run at a time, ``rated`` one to begin per hour, and ``one_by_one`` one call at a time.

    ``called`` lists the calls made, by the names of their rows; ``counted`` the acknowledged ends; ``holders`` the
    lease holders, once they were read. ``withdrawn`` is True once a cancellation of the first was acknowledged.
    """

    url: str
    session: Connection
    mortals: frozenset[str]
    keys: tuple[str, ...] = ("a",)
    options: str | None = None
    ordering_key: str | None = None
    limited: bool = False
    rated: bool = False
    most_calls: int | None = None
    one_by_one: bool = False
    changes: int = 0
    going_on: dict[int, ClaimedExecution] = field(default_factory=dict)
    now: int = 0
    partitions: tuple[int, ...] = ()
    gates: Admission = field(init=False)
    called: list[str] = field(default_factory=list)
    counted: Counter[str] = field(default_factory=Counter)
    holders: dict[str, int | None] | None = None
    withdrawn: bool = False

    def __post_init__(self) -> None:
        self.gates = admission(self.url, LAST)

    def name_of(self, row: ClaimedExecution) -> str:
        """Returns the row's name in the account."""
        return str(row.key)

    def call(self, row: ClaimedExecution, number: int) -> None:
        self.called.append(self.name_of(row))
        others = [self.name_of(other) for other in self.going_on.values()]
        assert not self.one_by_one or not others, (
            f"{self.name_of(row)} begins while the call of {others} is in progress"
        )
        self.going_on[number] = row

    def count(self, row: ClaimedExecution, number: int) -> None:
        name = self.name_of(row)
        held = self.holders is None or self.holders.get(name) == number
        assert held, f"worker {number} ended {name}, which it did not hold"
        self.counted[name] += 1

    def withdraw(self) -> None:
        self.withdrawn = True

    def change(self) -> None:
        self.changes += 1

    async def set_up(self) -> None:
        async with self.session.transaction(), self.session.pipeline():
            for statement in EMPTIED:
                await self.session.execute(statement)
            for place, key in enumerate(self.keys):
                row = {"key": key, "place": place, "options": self.options, "order": self.ordering_key}
                await self.session.execute(INSERT, row)
            if self.limited:
                await self.session.execute(GATE)
            if self.rated:
                await self.session.execute(RATE)
        await self.begin_the_account()

    async def begin_the_account(self) -> None:
        found = await self.session.execute("select distinct partition::int from pgsched.executions")
        self.partitions = tuple([partition for (partition,) in await found.fetchall()])
        self.called, self.counted, self.holders, self.withdrawn = [], Counter(), None, False
        self.changes, self.going_on = 0, {}
        self.most_calls = 1 if self.rated else None

    async def look(self) -> Hashable:
        """Returns the state. Each row must be in one place, executions that must run one by one must not be in flight
        together, and every acknowledged end must be on record and acknowledged to the lease holder."""
        rows = await (await self.session.execute(STATE)).fetchall()
        assert Counter(row[0] for row in rows if row[0] is not None) == Counter(self.keys), (
            f"not in one place each: {rows}"
        )
        in_hand = [row for row in rows if row[1] == "live" and row[3] is not None]
        assert len(in_hand) <= 1 or not (self.limited or self.ordering_key), f"more than one is running: {rows}"
        ends = {row[0]: row[1] for row in rows if row[0] is not None and row[1] != "live"}
        self.check_ends({row[0]: row[3] for row in rows if row[1] == "live"}, ends)
        assert self.most_calls is None or len(self.called) <= self.most_calls, f"too many in an hour: {self.called}"
        assert not self.withdrawn or ends.get(self.keys[0]) == "cancelled", f"cancelled, but not on record: {rows}"
        assert len(self.called) <= 1 or self.options is None or '"max_attempts": 1' not in self.options, "called again"
        return tuple(rows), self.account()

    def account(self) -> Hashable:
        """Returns what is known outside the database."""
        going_on = tuple(sorted((number, self.name_of(row)) for number, row in self.going_on.items()))
        ends = tuple(sorted(self.counted.items()))
        return tuple(sorted(self.called)), ends, going_on, self.withdrawn, self.changes

    def check_ends(self, holders: dict[str, int | None], ends: dict[str, str]) -> None:
        """Asserts that every acknowledged end is on record and was acknowledged once."""
        self.holders = holders
        for name, times in self.counted.items():
            assert times == 1, f"the end of {name} was acknowledged {times} times"
            assert ends.get(name) in ("succeeded", "failed"), f"acknowledged, but not on record: {name} {ends}"

    async def _waits(self) -> bool:
        """True if anything is left to do."""
        return await (await self.session.execute("select from pgsched.executions limit 1")).fetchone() is not None

    async def do_what_is_left(self, turns: int) -> None:
        last = Actor("last", self.session)
        last.step = passing  # type: ignore[method-assign]
        anew(self.gates)
        self.going_on.clear()
        await self.session.execute(OPENED)
        await self.session.execute(OVER)
        for _ in range(turns):
            await self.carry_on()
            if not await self._waits():
                break
            await reap(last, self.partitions, [1, 2, LAST])
            await self.session.execute(LATER)
            rows = await claim(last, LAST, self.partitions, self.gates, now=self.now)
            await self.look()
            for row in rows:
                self.call(row, LAST)
                if await record(last, row, "succeeded"):
                    self.count(row, LAST)
                self.going_on.clear()
                self.gates.left([row.id])
                await note_use(last.connection, LAST, self.gates)
            self.gates.holding.clear()  # as a gate_claimer does once its gates have let all through
            await self.session.execute(FREE)

    async def carry_on(self) -> None:
        """Does the workers' background work that the scene's rows wait for."""

    async def finish(self) -> None:
        """A last worker reclaims and does what is left; then each row has ended, and was called or cancelled."""
        await self.session.execute(WITHOUT_RATE)
        self.most_calls = None
        await self.do_what_is_left(4 * len(self.keys))
        state = await self.look()
        left = await (await self.session.execute(STATE)).fetchall()
        ends = {row[0]: row[1] for row in left if row[0] is not None}
        for key, end in ends.items():
            assert end != "live", f"it never ends: {state}"
            assert end != "succeeded" or key in self.called, f"succeeded, but was not called: {state}"


async def passing(name: str) -> None:
    """A step at which the last worker does not stop."""
