"""A real subscription to all tables: what it replicates under load, and what it needs to take over."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo
from psycopg.sql import SQL, Identifier

from pgsched.delivery.app import App
from pgsched.delivery.exception_outcomes import Fail
from pgsched.errors import Conflict
from pgsched.scheduler import Worker
from pgsched.settings import Settings
from pgsched.store.admin.migrate import migrate
from pgsched.telemetry import Events
from pgsched.worker_process import run_worker
from tests.replication.conftest import Follow
from tests.replication.pair import Connection, Pair, until

pytestmark = pytest.mark.smoke

BY_PARENT = "with (publish_via_partition_root = true)"
NO_DAYS = "select count(*) = 0 from pg_class where relname ~ '^history_[0-9]{8}$'"
ENDED = "select count(*) >= %s and not exists (select from pgsched.dependencies) from pgsched.history"
UNTIL_DAYS = "select count(*) = 45 from pgsched_internal.days"
CHAIN = """
select pgsched.schedule('python:note', key => 'first', delay => '0.2 s');
select pgsched.schedule('python:note', key => 'second', after => array['first']);
select pgsched.schedule('python:fail', key => 'third', after => array['second'], options => '{"max_attempts": 2}');
select pgsched.schedule('python:note', key => 'never', after => array['third']);
select pgsched.schedule('python:note', key => 'anyhow', ordering_key => 'one', delay => '0 s');
select pgsched.schedule('python:note', every => '1 hour', key => 'hourly');
"""


def handlers() -> App:
    app = App()

    @app.handler("note")
    async def note(payload: Any) -> None:
        pass

    @app.handler("fail")
    async def fail(payload: Any) -> None:
        raise Fail("no use")

    return app


def value(db: Connection, query: str, *parameters: Any) -> Any:
    (found,) = db.execute(query.encode(), parameters).fetchone() or (None,)
    return found


@asynccontextmanager
async def working(url: str, **overrides: Any) -> AsyncIterator[Worker]:
    settings = Settings(database_url=url, concurrency=10, drain_timeout=5.0, **overrides)
    worker = Worker(settings, app=handlers(), events=Events())
    await worker.start()
    try:
        yield worker
    finally:
        await worker.drain()


async def live(pair: Pair) -> None:
    """Creates days, dependent, failed and replayed executions, and a queue, while the subscription is active."""
    db = pair.source
    pair.catch_up()  # a table that is being copied cannot become a partition
    async with working(pair.source_url):
        # An execution that ends before its day's table exists goes into the default partition, and the table of that
        # day is never created.
        await asyncio.to_thread(until, lambda: value(db, UNTIL_DAYS))
        db.execute(CHAIN)
        db.execute("select pgsched.create_queue('orders')")
        db.execute(
            "select pgsched.schedule('python:note', key => 'k' || n, queue => 'orders') from generate_series(1, 50) n"
        )
        await asyncio.to_thread(until, lambda: value(db, ENDED, 5))
        db.execute("select pgsched.replay(id) from pgsched.dead_letters")
    assert value(db, "select count(*) from pgsched.history where status = 'failed'") == 1
    assert value(db, "select count(*) from pgsched.attempts") > 0


async def test_a_replica_gets_every_row_even_in_new_queues_and_day_partitions(follow: Follow) -> None:
    with follow(BY_PARENT) as pair:
        assert value(pair.copy, NO_DAYS)
        await live(pair)
        pair.catch_up()
        assert pair.difference() == {}
        made, followed = pair.partitions()
        assert followed == made
        await live_on(pair)
        pair.catch_up()
        assert pair.difference() == {}
        made, followed = pair.partitions()
        assert followed == made


async def live_on(pair: Pair) -> None:
    """Drops the queue and a day."""
    db = pair.source
    async with working(pair.source_url, queues="orders"):
        await asyncio.to_thread(until, lambda: value(db, "select pgsched_internal.count_live('orders', 1) = 0"))
    db.execute("select pgsched.drop_queue('orders')")
    await asyncio.to_thread(
        until, lambda: value(db, "select pgsched_internal.drop_day((select min(name) from pgsched_internal.days))")
    )
    assert value(db, "select count(*) from pgsched_internal.days") == 44


async def test_a_subscription_by_partition_is_complete_after_refreshing(follow: Follow) -> None:
    with follow() as pair:
        await live(pair)
        pair.catch_up()
        assert pair.difference() != {}
        pair.copy.execute(f"alter subscription {pair.subscription} refresh publication".encode())
        pair.catch_up()
        assert pair.difference() == {}


LEASED = """
with gone as (
  insert into pgsched.workers (name, queues, release, instance, expires_at)
  values ('gone', '{default}', '0.1', 'f00', pgsched.now() + interval '1 minute') returning id
)
update pgsched.executions e set lease_owner = gone.id, lease_token = 1, attempt = 1,
                                lease_expires_at = pgsched.now() + interval '1 minute'
  from gone where e.client_id = 'unfinished'"""
TAKEN_OVER = """
select count(*) = 51 from pgsched.history
 where status = 'succeeded' and (partition >= 16 or client_id = 'unfinished')"""


async def test_a_replica_can_take_over_after_an_explicit_release(follow: Follow) -> None:
    with follow(BY_PARENT) as pair:
        await live(pair)
        pair.source.execute("select pgsched.pause('job', id::text) from pgsched.jobs")
        pair.source.execute("select pgsched.schedule('python:note', delay => '0 s', client => 'unfinished')")
        pair.source.execute(LEASED)
        pair.catch_up()
        pair.copy.execute(f"drop subscription {pair.subscription}".encode())
        assert migrate(pair.copy_url) == []
        pair.copy.execute("select pgsched.resume('job', id::text) from pgsched.jobs")
        why = value(pair.copy, "select why from pgsched_internal.check_same_server()")
        assert str(why).startswith("this database is a copy")
        pair.copy.execute("select pgsched.resume('installation')")
        async with working(pair.copy_url, queues="default,orders"):
            await asyncio.to_thread(until, lambda: value(pair.copy, TAKEN_OVER))
        logged = "select array_agg(action order by id) from pgsched.audit_log where kind = 'installation'"
        assert value(pair.copy, logged) == ["pause", "resume"]


SENDER = """
create role {name} login replication bypassrls password 'sent';
grant pg_read_all_data to {name};
"""
FOLLOWER = """
create role {name} login password 'followed' in role pg_create_subscription, pgsched_owner;
grant create on database {database} to {name};
"""


async def test_a_subscription_needs_no_superuser_on_either_side(follow: Follow) -> None:
    with follow(BY_PARENT) as pair:
        pair.catch_up()
        pair.copy.execute(f"drop subscription {pair.subscription}".encode())
        name, database = f"no_{pair.subscription}", pair.copy.info.dbname
        for side, script in ((pair.source, SENDER), (pair.copy, FOLLOWER)):
            side.execute(script.format(name=name, database=database).encode())
        try:
            with psycopg.connect(pair.copy_url, user=name, password="followed", autocommit=True) as follower:
                sender = make_conninfo(pair.source_url, user=name, password="sent")
                query = "create subscription {} connection {} publication everything with (copy_data = false)"
                follower.execute(SQL(query).format(Identifier(pair.subscription), sender))
            await live(pair)
            await live_on(pair)
            pair.catch_up()
            assert pair.difference() == {}
            made, followed = pair.partitions()
            assert followed == made
            strangers = "select count(*) from pg_class where relowner = %s::regrole"
            assert value(pair.copy, strangers, name) == 0  # new tables belong to pgsched_owner, as everywhere
            pair.copy.execute(f"drop subscription {pair.subscription}".encode())
        finally:
            for side in (pair.source, pair.copy):
                side.execute(f"drop owned by {name}; drop role {name}".encode())


async def test_a_worker_refuses_to_run_while_a_subscription_is_active(follow: Follow) -> None:
    with follow(BY_PARENT) as pair:
        pair.catch_up()
        with pytest.raises(Conflict, match=f"by the subscription {pair.subscription}"):
            run_worker(Settings(database_url=pair.copy_url))
