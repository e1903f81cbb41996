"""Ordering keys, with whole workers: one execution at a time, in order, however each ends."""

import asyncio
from collections import defaultdict
from typing import Any

import psycopg
import pytest

from pgsched.delivery.app import App
from tests.worker.conftest import Connection, Recorder, Running, until, until_history, value

pytestmark = pytest.mark.smoke

SCHEDULE = """
insert into pgsched.executions (client_id, target, fire_at, payload, ordering_key, partition, options)
select 'shop', 'python:note', now() - interval '1 minute' + n * interval '1 ms', jsonb_build_array(k, n), k,
       pgsched.partition_for('default', 'shop', null, k), %s::jsonb
  from generate_series(1, %s) n, (select 'key-' || k as k from generate_series(1, %s) k) keys"""


_SCHEDULE_IN = """
insert into pgsched.executions (client_id, target, fire_at, payload, ordering_key, partition)
select 'shop', 'python:note', now() + n * interval '1 ms', jsonb_build_array(k, n), k,
       pgsched.partition_for(%s, 'shop', null, k)
  from generate_series(%s::integer, %s) n, (select 'key-' || k as k from generate_series(1, 10) k) keys"""


class Notes:
    """The deliveries of each key, and whether two of one key ever overlapped."""

    def __init__(self, *, fails: Any = lambda key, n, attempt: False, pause: float = 0.0) -> None:
        self.app, self.together = App(), False
        self.seen: dict[str, list[int]] = defaultdict(list)
        self._fails, self._pause = fails, pause
        self._under_way: set[str] = set()
        self._tries: dict[tuple[str, int], int] = defaultdict(int)
        self.app.handler("note")(self._note)

    async def _note(self, payload: Any) -> None:
        key, n = payload
        self.together |= key in self._under_way
        self._under_way.add(key)
        await asyncio.sleep(self._pause)
        self._under_way.discard(key)
        self._tries[key, n] += 1
        if self._fails(key, n, self._tries[key, n]):
            raise RuntimeError("not yet")
        self.seen[key].append(n)


async def test_executions_of_each_ordering_key_are_delivered_in_order(running: Running, db: Connection) -> None:
    notes = Notes()
    await db.execute(SCHEDULE.encode(), [None, 20, 30])
    async with running(notes.app), running(notes.app):
        await until_history(db, 600, seconds=40)
    assert (dict(notes.seen), notes.together) == ({f"key-{k}": list(range(1, 21)) for k in range(1, 31)}, False)


async def test_ordering_is_kept_when_work_moves_to_another_queue(running: Running, db: Connection) -> None:
    notes = Notes()
    await db.execute("select pgsched.create_queue('orders'), pgsched.pause('queue', 'orders')")
    both = {"queues": "default,orders"}
    async with running(notes.app, **both), running(notes.app, **both):
        await db.execute(_SCHEDULE_IN.encode(), ["default", 1, 10])
        await db.execute(_SCHEDULE_IN.encode(), ["orders", 11, 20])
        await until(lambda: value(db, "select pgsched_internal.count_live('default', 1) = 0"))
        await db.execute("select pgsched.resume('queue', 'orders')")
        await until_history(db, 200)
    assert (dict(notes.seen), notes.together) == ({f"key-{k}": list(range(1, 21)) for k in range(1, 11)}, False)


async def test_an_ordering_keys_head_waits_for_its_instant(running: Running, db: Connection) -> None:
    notes = Notes()
    async with running(notes.app, look_ahead=0.5):
        await db.execute(
            "insert into pgsched.executions (client_id, target, fire_at, payload, ordering_key, partition)"
            """ select 'shop', 'python:note', now() + n * interval '0.4 s', jsonb_build_array('k', n), 'k',"""
            " pgsched.partition_for('default', 'shop', null, 'k') from generate_series(0, 3) n"
        )
        await until_history(db, 4)
    assert await value(db, "select count(*) from pgsched.history where finished_at < scheduled_for") == 0
    assert notes.seen["k"] == [0, 1, 2, 3]


async def test_a_retry_holds_back_later_executions_of_its_ordering_key(running: Running, db: Connection) -> None:
    notes = Notes(fails=lambda key, n, attempt: n % 3 == 0 and attempt < 3)
    options = '{"backoff": {"initial": "5ms", "maximum": "20ms"}}'
    await db.execute(SCHEDULE.encode(), [options, 9, 10])
    async with running(notes.app), running(notes.app):
        await until_history(db, 90, seconds=40)
    assert dict(notes.seen) == {f"key-{k}": list(range(1, 10)) for k in range(1, 11)}


async def test_a_final_failure_lets_the_next_execution_in_order_run(running: Running, db: Connection) -> None:
    notes = Notes(fails=lambda key, n, attempt: n == 2)
    await db.execute(SCHEDULE.encode(), ['{"max_attempts": 1}', 4, 1])
    async with running(notes.app):
        await until_history(db, 3)
    assert notes.seen["key-1"] == [1, 3, 4]


async def test_a_final_failure_can_block_its_ordering_key_until_it_is_resumed(running: Running, db: Connection) -> None:
    notes = Notes(fails=lambda key, n, attempt: n == 2)
    await db.execute(SCHEDULE.encode(), ['{"max_attempts": 1, "ordering": "block"}', 4, 1])
    async with running(notes.app):
        await until(lambda: value(db, "select count(*) from pgsched.blocked_keys having count(*) = 1"))
        await until(lambda: value(db, "select 1 from pgsched.executions where gate = 'order' having count(*) = 2"))
        assert notes.seen["key-1"] == [1]
        assert await value(db, "select pgsched.resume('ordering_key', 'key-1', client => 'shop')")
        await until_history(db, 3)
    assert notes.seen["key-1"] == [1, 3, 4]


async def test_a_cancelled_head_lets_the_next_execution_in_order_run(running: Running, db: Connection) -> None:
    notes = Notes(fails=lambda key, n, attempt: n == 1)
    await db.execute(SCHEDULE.encode(), ['{"backoff": ["1h"]}', 3, 1])
    async with running(notes.app):
        head = await until(lambda: value(db, "select id from pgsched.executions where at_head and lease_token is null"))
        await until(lambda: value(db, "select 1 from pgsched.executions where gate = 'order' having count(*) = 2"))
        await db.execute("select pgsched.cancel(id => %s)", [head])
        await until_history(db, 2)
    assert notes.seen["key-1"] == [2, 3]


async def test_an_ordering_key_continues_after_its_head_is_deleted_by_hand(running: Running, db: Connection) -> None:
    notes = Notes(fails=lambda key, n, attempt: n == 1)
    await db.execute(SCHEDULE.encode(), ['{"backoff": ["1h"]}', 3, 1])
    async with running(notes.app) as worker:
        worker.parts.upkeep.stuck_keys.idle_every = 0.5  # it is not notified, and found nobody waiting
        await until(lambda: value(db, "select id from pgsched.executions where at_head and lease_token is null"))
        await until(lambda: value(db, "select 1 from pgsched.executions where gate = 'order' having count(*) = 2"))
        await db.execute("delete from pgsched.executions where at_head")
        await until_history(db, 2)
    assert notes.seen["key-1"] == [2, 3]


EARLIER = """
select pgsched.schedule('python:note', jsonb_build_array(%(key)s::text, %(n)s::int), client => 'shop',
       key => %(key)s || %(n)s, ordering_key => %(ordering_key)s, fire_at => now() - %(ago)s * interval '1 s',
       after => %(after)s::text[])"""


async def _put(
    db: Connection, key: str, n: int, *, ago: int, after: list[str] | None = None, ordered: bool = True
) -> str:
    arguments = {"key": key, "n": n, "ago": ago, "after": after, "ordering_key": key if ordered else None}
    row = await (await db.execute(EARLIER.encode(), arguments)).fetchone()
    assert row is not None
    return str(row[0])


async def test_a_dependent_runs_after_its_predecessor_whatever_its_instant(running: Running, db: Connection) -> None:
    notes = Notes()
    later = await _put(db, "direct", 1, ago=10)
    await _put(db, "direct", 2, ago=20, after=[later])
    last = await _put(db, "chain", 1, ago=10)
    between = await _put(db, "chain", 0, ago=20, after=[last], ordered=False)
    await _put(db, "chain", 2, ago=30, after=[between])
    moved = await _put(db, "moved", 1, ago=20)
    await _put(db, "moved", 2, ago=10, after=[moved])
    await db.execute("select pgsched.edit(%s, jsonb_build_object('fire_at', now()))", [moved])
    async with running(notes.app):
        await until_history(db, 7)
    assert {key: [n for n in seen if n] for key, seen in notes.seen.items()} == {
        "direct": [1, 2], "chain": [1, 2], "moved": [1, 2],
    }  # fmt: skip


async def test_an_execution_dependent_on_another_ordering_key_keeps_its_place(running: Running, db: Connection) -> None:
    notes = Notes()
    other = await _put(db, "other", 1, ago=-2)
    await _put(db, "key", 1, ago=20, after=[other])
    await _put(db, "key", 2, ago=10)
    async with running(notes.app):
        await until(lambda: value(db, "select 1 from pgsched.executions where gate = 'order'"))
        await until_history(db, 3)
    assert notes.seen["key"] == [1, 2]


async def test_a_head_made_dependent_on_its_successor_runs_after_the_successor(
    running: Running, db: Connection
) -> None:
    notes = Notes(fails=lambda key, n, attempt: n == 1 and attempt == 1)
    await _put(db, "key", 1, ago=20)
    await db.execute("""update pgsched.executions set options = '{"backoff": ["1h"]}'""")
    await _put(db, "key", 2, ago=10)
    async with running(notes.app):
        await until(lambda: value(db, "select 1 from pgsched.executions where at_head and lease_token is null"))
        await until(lambda: value(db, "select 1 from pgsched.executions where gate = 'order'"))
        await _put(db, "key", 1, ago=20, after=["key2"])
        await until_history(db, 2)
    assert notes.seen["key"] == [2, 1]


async def test_a_cancelled_dependent_lets_later_executions_in_order_run(running: Running, db: Connection) -> None:
    notes = Notes()
    other = await _put(db, "other", 1, ago=-3600)
    waiting = await _put(db, "key", 1, ago=20, after=[other])
    await _put(db, "key", 2, ago=10)
    async with running(notes.app) as worker:
        worker.parts.upkeep.stuck_keys.every = worker.parts.upkeep.stuck_keys.idle_every = 3600  # needs a notice
        await until(lambda: value(db, "select 1 from pgsched.executions where gate = 'order'"))
        await db.execute("select pgsched.cancel(id => %s)", [waiting])
        await until(lambda: asyncio.sleep(0, notes.seen["key"] == [2]))


async def test_a_skipped_dependent_lets_later_executions_in_order_run(running: Running, db: Connection) -> None:
    notes = Notes(fails=lambda key, n, attempt: key == "other")
    other = await _put(db, "other", 1, ago=-1)
    await db.execute("""update pgsched.executions set options = '{"max_attempts": 1}'""")
    await _put(db, "key", 1, ago=20, after=[other])
    await _put(db, "key", 2, ago=10)
    async with running(notes.app) as worker:
        worker.parts.upkeep.stuck_keys.every = worker.parts.upkeep.stuck_keys.idle_every = 3600
        await until(lambda: asyncio.sleep(0, notes.seen["key"] == [2]))
    assert await value(db, "select status::text from pgsched.history where key = 'key1'") == "skipped"


async def test_an_open_client_transaction_delays_no_other_ordering_key(
    running: Running, db: Connection, database_url: str
) -> None:
    notes = Notes()
    other = await _put(db, "other", 1, ago=-3600)
    waiting = await _put(db, "key", 1, ago=20, after=[other])
    await _put(db, "key", 2, ago=10)
    async with running(notes.app), await psycopg.AsyncConnection.connect(database_url) as client:
        await until(lambda: value(db, "select 1 from pgsched.executions where gate = 'order'"))
        await client.execute("select pgsched.cancel(id => %s)", [waiting])
        moved = "pgsched.edit(id, jsonb_build_object('fire_at', now()))"
        await client.execute(f"select {moved} from pgsched.executions where key = 'key2'".encode())
        await db.execute(SCHEDULE.encode(), [None, 5, 40])
        await until_history(db, 200)
        assert notes.seen["key"] == []
        await client.commit()
        await until(lambda: asyncio.sleep(0, notes.seen["key"] == [2]))


async def test_a_held_execution_made_dependent_waits_for_its_predecessor(running: Running, db: Connection) -> None:
    notes = Notes(fails=lambda key, n, attempt: n == 1)
    await _put(db, "key", 1, ago=20)
    await db.execute("""update pgsched.executions set options = '{"backoff": ["1h"]}'""")
    await _put(db, "key", 2, ago=10)
    other = await _put(db, "other", 1, ago=-3600)
    async with running(notes.app):
        await until(lambda: value(db, "select 1 from pgsched.executions where gate = 'order'"))
        await until(lambda: value(db, "select 1 from pgsched.executions where at_head and lease_token is null"))
        await _put(db, "key", 2, ago=10, after=[other])
        await db.execute("select pgsched.cancel(client => 'shop', key => 'key1')")
        await _put(db, "key", 3, ago=-1)
        await until(lambda: value(db, "select 1 from pgsched.executions where key = 'key3' and gate = 'order'"))
        assert notes.seen["key"] == []
    assert await value(db, "select gate is null and not isfinite(fire_at) from pgsched.executions where key = 'key2'")


async def test_orderings_locked_elsewhere_delay_no_unordered_executions(
    running: Running, db: Connection, database_url: str, recorder: Recorder
) -> None:
    """For example, another worker's process froze while it held the locks."""
    notes = Notes()
    async with await psycopg.AsyncConnection.connect(database_url) as elsewhere:
        await elsewhere.execute("select from pgsched_internal.orderings for update")
        await db.execute(SCHEDULE.encode(), [None, 2, 20])
        async with running(notes.app):
            put_off = (
                "select count(distinct ordering_key) = 20 from pgsched.executions where reason ~ 'is deciding which'"
            )
            await until(lambda: value(db, put_off))
            await db.execute("select pgsched.schedule('python:note', payload => '[\"plain\", 1]')")
            await until_history(db, 1)
            assert notes.seen == {"plain": [1]}
            await elsewhere.rollback()
            await until_history(db, 41)
    assert notes.seen.pop("plain") == [1]
    assert (dict(notes.seen), notes.together) == ({f"key-{k}": [1, 2] for k in range(1, 21)}, False)
    assert await value(db, "select max(attempt) from pgsched.history") == 1
    assert not recorder.named("execution.parked")


async def test_executions_end_while_their_ordering_is_locked_elsewhere(
    running: Running, db: Connection, database_url: str
) -> None:
    """Each key's next execution is found afterwards."""
    app, go, seen = App(), asyncio.Event(), defaultdict[str, list[int]](list)

    @app.handler("note")
    async def note(payload: Any) -> None:
        await go.wait()
        seen[payload[0]].append(payload[1])

    await db.execute(SCHEDULE.encode(), [None, 2, 3])
    async with await psycopg.AsyncConnection.connect(database_url) as elsewhere, running(app):
        await until(lambda: value(db, "select count(*) = 3 from pgsched.executions where gate = 'order'"))
        await elsewhere.execute("select from pgsched_internal.orderings for update")
        go.set()
        await until_history(db, 3)
        await elsewhere.rollback()
        await until_history(db, 6)
    assert seen == {f"key-{k}": [1, 2] for k in range(1, 4)}


_WAITS = (
    "select count(*) > 0 from pg_stat_activity"
    " where application_name = 'pgsched handler' and wait_event_type = 'Lock' and query ilike 'commit'"
)
_ALL_FREE = (
    "select count(*) = (select count(*) from pgsched_internal.orderings)"
    " from (select from pgsched_internal.orderings for update skip locked) free"
)


async def test_a_handler_blocked_at_its_commit_locks_no_ordering(
    running: Running, db: Connection, database_url: str
) -> None:
    notes = Notes()

    @notes.app.handler("writes")
    async def writes(payload: Any, connection: Any) -> None:
        await connection.execute("insert into public.mine values (1)")

    await db.execute("create table public.one (id int primary key)")
    await db.execute("create table public.mine (id int references public.one deferrable initially deferred)")
    await db.execute("insert into public.one values (1)")
    async with await psycopg.AsyncConnection.connect(database_url) as holder, running(notes.app):
        await holder.execute("delete from public.one")
        await db.execute(SCHEDULE.replace("python:note", "python:writes").encode(), [None, 1, 30])
        await until(lambda: value(db, _WAITS))
        await until(lambda: value(db, _ALL_FREE))
        await holder.rollback()
        await until_history(db, 30)
