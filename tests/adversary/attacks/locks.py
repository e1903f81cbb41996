"""Open transactions, and locks that any login can take. No worker waits for them."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from tests.adversary.attack import Means, attack
from tests.adversary.attacks.rows import with_limits, with_pulled_queue
from tests.adversary.house import Connection

_BACKFILL = (
    "select id from pgsched.bulk('backfill', rate => %s,"
    " filter => jsonb_build_object('job', %s::uuid, 'from', now() - %s::interval, 'to', now()))"
)
_MODES = ("access share", "row share", "row exclusive", "share update exclusive", "share", "share row exclusive",
    "exclusive",
          "access exclusive")  # fmt: skip


def jobs(means: Means, count: int = 20, **more: Any) -> list[Any]:
    """Schedules jobs of mallory that run every second."""
    return [means.schedule(every="1 second", key=f"job {number}", **more) for number in range(count)]


def running(means: Means, count: int = 20, **more: Any) -> list[Any]:
    """Schedules executions of mallory that run for about a second, and waits until they run."""
    ids = [means.schedule(target="python:mallory_brief", key=f"key {number}", **more) for number in range(count)]
    means.wait(0.3)
    return ids


@contextmanager
def each_apart(means: Means, connection: Connection) -> Iterator[None]:
    """Runs the block in a savepoint. A refusal rolls back to it and keeps earlier locks."""
    connection.execute("savepoint before")
    yield
    connection.execute(
        "rollback to savepoint before" if connection.info.transaction_status == 3 else "release savepoint before"
    )


_DROP_THE_DAY = """
do $$ begin
  execute 'drop table if exists pgsched_internal.' || pgsched_internal.day_table('history', current_date + 100);
end $$"""


@attack(seconds=1.6)
def a_running_key_is_scheduled_in_an_open_transaction(means: Means) -> None:
    session = means.mallory()
    running(means)
    for number in range(20):
        means.attempt(session, "select pgsched.schedule('python:mallory', client => 'mallory', key => %s)",
                      [f"key {number}"])  # fmt: skip


@attack(seconds=1.6)
def a_running_key_is_debounced_in_an_open_transaction(means: Means) -> None:
    session = means.mallory()
    running(means)
    for number in range(20):
        means.attempt(session, "select pgsched.schedule('python:mallory', client => 'mallory', key => %s,"
                      " on_conflict => 'debounce', delay => '1 s')", [f"key {number}"])  # fmt: skip


@attack(seconds=1.6)
def running_rows_are_locked(means: Means) -> None:
    running(means)
    for number, strength in enumerate(("update", "no key update", "share", "key share")):
        means.attempt(means.mallory(), "select from pgsched.executions where client_id = 'mallory'"
                      f" and hashtext(id::text) & 3 = {number} for {strength}")  # fmt: skip


@attack(seconds=1.6)
def running_rows_are_cancelled_edited_and_depended_on(means: Means) -> None:
    for number, id in enumerate(running(means)):
        session = means.mallory()
        match number % 4:
            case 0:
                means.attempt(session, "select pgsched.cancel(%s::uuid)", [id])
            case 1:
                means.attempt(session, "select pgsched.edit(%s, jsonb_build_object('fire_at', now()))", [id])
            case 2:
                means.attempt(session, "select pgsched.schedule('python:mallory', client => 'mallory', after =>"
                                       " array[%s::text])",
                              [id])  # fmt: skip
            case _:
                means.attempt(session, "select pgsched.cancel(client => 'mallory', key => %s)", [f"key {number}"])


@attack(seconds=1.6)
def due_jobs_are_locked(means: Means) -> None:
    jobs(means)
    for number, strength in enumerate(("update", "no key update", "share", "key share")):
        means.attempt(means.mallory(), "select from pgsched.jobs where client_id = 'mallory'"
                      f" and hashtext(id::text) & 3 = {number} for {strength}")  # fmt: skip


@attack(seconds=1.6)
def due_jobs_are_edited_in_open_transactions(means: Means) -> None:
    for number, id in enumerate(jobs(means)):
        change = (
            '{"payload": 1}',
            '{"cron": "* * * * * *"}',
            '{"ordering_key": "o"}',
            '{"target": "python:mallory_brief"}',
        )[number % 4]
        means.attempt(means.mallory(), "select pgsched.edit(%s, %s::jsonb)", [id, change])


@attack(seconds=1.6)
def due_jobs_are_paused_and_triggered_in_open_transactions(means: Means) -> None:
    for number, id in enumerate(jobs(means)):
        verb = ("pause('job', %s::text)", "trigger(%s)", "cancel(%s)", "resume('job', %s::text)")[number % 4]
        means.attempt(means.mallory(), f"select pgsched.{verb}", [id])


@attack(seconds=1.6)
def due_jobs_are_scheduled_again_in_an_open_transaction(means: Means) -> None:
    jobs(means)
    session = means.mallory()
    for number in range(20):
        means.attempt(session, "select pgsched.schedule('python:mallory', every => '2 seconds', client =>"
                               " 'mallory', key => %s)",
                      [f"job {number}"])  # fmt: skip


@attack(seconds=1.6)
def all_jobs_are_paused_resumed_and_cancelled_in_one_transaction(means: Means) -> None:
    jobs(means)
    session = means.mallory()
    for action in ("pause", "resume", "cancel_jobs"):
        means.attempt(session, 'select pgsched.bulk(%s, \'{"client": "mallory"}\')', [action])


@attack(seconds=1.6)
def a_backfill_is_started_and_stopped_in_an_open_transaction(means: Means) -> None:
    session = means.mallory()
    for id in jobs(means, 5):
        means.attempt(session, _BACKFILL, [100000, id, "1 day"])
    for id in jobs(means, 5):
        found = means.commit(_BACKFILL, [1000, id, "1 hour"])
        means.attempt(means.mallory(), "select pgsched.stop_bulk(%s)", [found and found[0][0]])


@attack(seconds=1.6)
def waiting_rows_are_locked_when_they_come_due(means: Means) -> None:
    means.commit("insert into pgsched.executions (client_id, target, fire_at) select 'mallory', 'python:mallory',"
                 " now() + n * interval '1 ms' from generate_series(1, 2000) n")  # fmt: skip
    means.attempt(means.mallory(), "select from pgsched.executions where client_id = 'mallory' for update")
    ids = [means.schedule(delay="0.8 seconds", ordering_key="o", options='{"limit_key": "narrow"}') for _ in range(20)]
    means.attempt(means.mallory(), "select pgsched.cancel(id) from unnest(%s::uuid[]) id", [ids])


@attack(seconds=1.6)
def rows_under_ordering_keys_are_locked(means: Means) -> None:
    running(means, 10, ordering_key="turn")
    for number in range(30):
        means.schedule(ordering_key=f"turn {number % 3}", target="python:mallory_brief")
    for strength in ("update", "share"):
        means.attempt(means.mallory(), f"select from pgsched.executions where client_id = 'mallory' for {strength}")
    means.attempt(means.mallory(), "select pgsched.resume('ordering_key', 'turn', client => 'mallory')")
    for number in range(16):
        means.attempt(means.mallory(), "select pgsched.schedule('python:mallory', client => 'mallory', ordering_key"
                                       " => %s,"
                      " key => %s)", [f"turn {number}", f"in turn {number}"])  # fmt: skip


def dead_letters(means: Means, count: int = 20, **more: Any) -> list[Any]:
    """Creates dead letters of mallory and returns their ids."""
    for number in range(count):
        means.schedule(target="python:mallory_fails", options='{"max_attempts": 1}',
                       **{name: value.format(number % 16) for name, value in more.items()})  # fmt: skip
    means.wait(1.0)
    found = means.commit(
        "select id from pgsched.dead_letters where client_id = 'mallory' order by finished_at desc limit 100"
    )
    return [row[0] for row in found or []]


@attack(seconds=1.6)
def a_dead_letter_with_an_ordering_key_is_replayed_in_an_open_transaction(means: Means) -> None:
    for id in dead_letters(means, ordering_key="turn {0}"):
        means.attempt(means.mallory(), "select pgsched.replay(%s)", [id])


@attack(seconds=1.6)
def dead_letters_are_replayed_and_discarded_in_open_transactions(means: Means) -> None:
    for number, id in enumerate(dead_letters(means)):
        means.attempt(means.mallory(), f"select pgsched.{'replay' if number % 2 else 'discard'}(%s)", [id])
    session = means.mallory()
    found = means.attempt(session, "select id from pgsched.bulk('replay', '{\"client\": \"mallory\"}', 1000)")
    session.commit()
    means.attempt(means.mallory(), "select pgsched.bulk('discard', '{\"client\": \"mallory\"}')")
    if found:
        means.attempt(means.mallory(), "select pgsched.stop_bulk(%s)", [found[0][0]])


@attack(seconds=1.6)
def two_hundred_and_ten_dependents_are_locked(means: Means) -> None:
    """The first client has dependents, too: the chains of its trickle."""
    first = means.schedule(target="python:mallory_brief", key="awaited")
    means.commit("select pgsched.schedule('python:mallory', client => 'mallory', key => 'd' || n, after =>"
                 " array[%s::text],"
                 " after_outcome => 'any') from generate_series(1, 210) n", [first])  # fmt: skip
    means.attempt(
        means.mallory(), "select from pgsched.executions where client_id = 'mallory' and key like 'd%%' for update"
    )
    for number in range(0, 210, 7):
        means.attempt(means.mallory(), "select pgsched.cancel(client => 'mallory', key => %s)", [f"d{number}"])


@attack(seconds=1.6)
def a_web_of_dependencies_is_left_open(means: Means) -> None:
    session = means.mallory()
    names = [f"w{number}" for number in range(40)]
    means.attempt(session, "select pgsched.schedule('python:mallory_brief', client => 'mallory', key => n) from"
                           " unnest(%s::text[]) n",
                  [names])  # fmt: skip
    session.commit()
    for number in range(60):
        means.attempt(session, "select pgsched.schedule('python:mallory', client => 'mallory', key => %s, after =>"
                               " %s::text[])",
                      [f"v{number}", names])  # fmt: skip


@attack(seconds=1.6)
def a_consumer_leaves_its_verbs_open(means: Means) -> None:
    with_pulled_queue(means)
    for number in range(60):
        means.schedule(queue="pulled", target="queue:", ordering_key=f"p{number % 5}" if number % 2 else None)
    found = means.commit("select id, token from pgsched.claim('pulled', 'mallory', 30, '1 s')") or []
    for number, (id, token) in enumerate(found):
        verb = ("complete(%s, %s)", "fail(%s, %s, 'no')", "extend(%s, %s)", "release(%s, %s)")[number % 4]
        means.attempt(means.mallory(), f"select pgsched.{verb}", [id, token])
    means.attempt(means.mallory(), "select * from pgsched.claim('pulled', 'mallory', 1000, '1 s')")


@attack(seconds=1.6)
def verbs_with_a_limit_are_left_open(means: Means) -> None:
    with_limits(means)
    for number in range(100):
        means.schedule(options='{"limit_key": "narrow"}', key=f"limited {number}", target="python:mallory_brief")
    means.attempt(means.mallory(), "select from pgsched.executions where client_id = 'mallory' for update")
    for number in range(20):
        means.attempt(means.mallory(), "select pgsched.schedule('python:mallory', client => 'mallory', key => %s)",
                      [f"limited {number}"])  # fmt: skip


@attack(seconds=1.6)
def every_table_is_locked_in_every_mode(means: Means) -> None:
    _lock_tables(means, means.mallory())


@attack(seconds=1.6)
def every_table_is_locked_by_a_login_without_rights(means: Means) -> None:
    _lock_tables(means, means.nobody())


def _lock_tables(means: Means, session: Connection) -> None:
    tables = means.house.owner.execute(
        "select c.oid::regclass::text from pg_class c join pg_namespace n on n.oid = c.relnamespace"
        " where n.nspname in ('pgsched', 'pgsched_internal') and c.relkind in ('r', 'p', 'v')"
    ).fetchall()
    for mode in _MODES[1:]:
        for (table,) in tables:
            with each_apart(means, session):
                _quietly(means, session, f"lock table {table} in {mode} mode nowait")


def _quietly(means: Means, session: Connection, statement: str) -> None:
    try:
        session.execute(statement.encode())
    except Exception as error:
        means.refusals.append(str(error).splitlines()[0])


@attack(seconds=1.6)
def every_advisory_lock_is_taken(means: Means) -> None:
    """Takes the keys known from the source, and repeatedly those that others hold or wait for."""
    session = means.nobody()
    session.autocommit = True
    _quietly(
        means,
        session,
        "select pg_try_advisory_lock(c, n) from generate_series(-40, 60) n, unnest('{1885631331,1885631332}'::int[]) c",
    )
    _quietly(means, session, "select pg_try_advisory_lock(hashtext(w)), pg_try_advisory_lock(hashtext(w),"
                             " hashtext('mallory')),"
             " pg_try_advisory_lock(hashtext(w), hashtext('first')) from unnest(array['pgsched days', 'pgsched.queues',"
             " 'pgsched tzdata', 'pgsched dependencies', 'pgsched migrate']) w")  # fmt: skip

    def take() -> None:
        session.execute(
            "select case when objsubid = 2 then pg_try_advisory_lock(classid::bigint::bit(32)::int,"
            " objid::bigint::bit(32)::int)"
            " else pg_try_advisory_lock((classid::bigint << 32) | objid::bigint) end from pg_locks"
            " where locktype = 'advisory' and pid <> pg_backend_pid() limit 50"
        )
        means.wait(0.02)

    means.keep(take)


@attack(seconds=1.6)
def the_locks_of_workers_are_waited_for(means: Means) -> None:
    """The attacker gets a worker's lock as soon as that worker's connection is cut. Others must not take the worker for
    alive then."""
    for number in range(1, 9):
        session = means.nobody()
        session.autocommit = True
        means.keep(partial(session.execute, "select pg_advisory_lock(1885631331, %s)", [number]))


@attack(seconds=1.6)
def forty_transactions_with_keys_beside_several_queues(means: Means) -> None:
    """Looking up a key in every partition takes thousands of locks, and the lock table has limited room."""
    with_pulled_queue(means, "pulled", "pulled-2", "pulled-3", "pulled-4")
    for number in range(45):
        means.attempt(means.mallory(), "select pgsched.schedule('python:mallory', client => 'mallory', key => %s)",
                      [f"one of many {number}"])  # fmt: skip


@attack(seconds=1.6)
def giant_batches_are_left_open(means: Means) -> None:
    for delay in ("0 s", "1 s", "-1 hour", "100 days"):
        means.attempt(means.mallory(), "insert into pgsched.executions (client_id, target, fire_at) select 'mallory',"
                      " 'python:mallory', now() + %s::interval from generate_series(1, 20000)", [delay])  # fmt: skip


@attack(seconds=1.6)
def a_giant_batch_is_rolled_back(means: Means) -> None:
    session = means.mallory()

    def again() -> None:
        session.execute("insert into pgsched.executions (client_id, target, fire_at) select 'mallory',"
                        " 'python:mallory', now()"
                        " from generate_series(1, 10000)")  # fmt: skip
        session.rollback()
        means.wait(0.3)

    means.keep(again)


@attack(seconds=1.6)
def old_snapshots_are_held_by_cursors(means: Means) -> None:
    session = means.mallory()
    for table in ("status", "history", "executions", "jobs"):
        means.attempt(session, f"declare c_{table} cursor with hold for select * from pgsched.{table}")
        means.attempt(session, f"fetch 1 from c_{table}")
    session = means.mallory()
    means.attempt(session, "set transaction isolation level serializable")
    for table in ("status", "history", "executions", "jobs", "attempts", "dead_letters"):
        means.attempt(session, f"select count(*) from pgsched.{table}")


@attack(seconds=1.6)
def tables_are_shadowed_by_temporary_ones(means: Means) -> None:
    session = means.mallory()
    for name in ("executions", "jobs", "clients", "queues", "history"):
        means.attempt(session, f"create temp table {name} (like pgsched.{name})")
    means.attempt(session, "set search_path = pg_temp, pgsched")
    for setting, value in (
        ("notify", "told"),
        ("unbounded", "on"),
        ("key_retention", "-1 day"),
        ("key_retention", "x"),
        ("notify", "\x01"),
    ):
        means.attempt(session, "select set_config(%s, %s, false)", [f"pgsched.{setting}", value])
        session.commit()
        means.attempt(session, "select pgsched.schedule('python:mallory', client => 'mallory', key => 'hidden')")
        session.commit()


@attack()
def a_day_of_history_is_made_beside_a_reader(means: Means) -> None:
    """Repeats what workers do. The reader's locks prevent attaching the day."""
    day = "'history', (current_date + 100)"
    means.at_end(lambda: means.house.owner.execute(_DROP_THE_DAY.encode()))
    means.attempt(means.mallory(), "select count(*) from pgsched.history")
    means.attempt(means.mallory(), "select count(*) from pgsched.attempts")
    operator = means.operator()

    def make() -> None:
        operator.execute(f"select pgsched_internal.make_day({day}), pgsched_internal.attach_day({day})".encode())
        means.wait(0.02)

    means.keep(make)
