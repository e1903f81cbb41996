"""What the tests of pulled queues share: a queue, its executions, and what consumers do with them."""

from typing import Any
from uuid import UUID

from psycopg.rows import namedtuple_row

from tests.store.store_arrange import Connection, call

FIRST = 3200  # no other test has a queue that begins here


Handed = Any
"""An execution as pgsched.claim returns it, each column an attribute."""


def pulled_queue(db: Connection, name: str = "orders", first: int = FIRST) -> str:
    """A queue that consumers pull from, which may exist already."""
    db.execute(
        "insert into pgsched.queues (name, first_partition, pulled) values (%s, %s, true) on conflict do nothing",
        [name, first],
    )
    db.execute("set role pgsched_owner")  # as pgsched.create_queue does, but with partitions that the test chooses
    db.execute(
        "select pgsched_internal.make_partition(p, true) from generate_series(%s::int, %s::int) p"
        " where to_regclass('pgsched_internal.executions_' || p) is null",
        [first, first + 15],
    )
    db.execute("reset role")
    return name


def put(db: Connection, **arguments: Any) -> UUID:
    """Schedule an execution for consumers, due now unless the arguments say when."""
    given = {"target": "queue:", "queue": "orders", **arguments}
    id = call(db, "schedule", **given)
    assert isinstance(id, UUID)
    return id


def put_many(db: Connection, count: int, *, first: int = FIRST) -> None:
    db.execute(
        "insert into pgsched.executions (target, payload, fire_at, partition)"
        " select 'queue:', to_jsonb(n), pgsched.now(), %s + n %% 16 from generate_series(1, %s) as n",
        [first, count],
    )


def claim(
    db: Connection, batch: int = 10, *, worker: str = "svc-1", lease: str = "30 s", queue: str = "orders"
) -> list[Handed]:
    with db.cursor(row_factory=namedtuple_row) as cursor:
        query = "select * from pgsched.claim(queue => %s, worker => %s, batch => %s, lease => %s::interval)"
        return cursor.execute(query, [queue, worker, batch, lease]).fetchall()


def claim_one(db: Connection, **how: Any) -> Handed:
    [handed] = claim(db, **how)
    return handed


def complete(db: Connection, handed: Handed, **arguments: Any) -> None:
    call(db, "complete", id=handed.id, token=handed.token, **arguments)


def fail(db: Connection, handed: Handed, **arguments: Any) -> str:
    return str(call(db, "fail", id=handed.id, token=handed.token, **{"error": "no paper", **arguments}))


def run_out(db: Connection, handed: Handed) -> None:
    """Travel to the moment at which an expired lease has been in doubt for long enough."""
    end_lease(db, handed)
    db.execute("update pgsched.executions set fire_at = pgsched.now() where id = %s", [handed.id])


def end_lease(db: Connection, handed: Handed) -> None:
    """Travel past the end of a lease."""
    db.execute(
        "update pgsched.executions set lease_expires_at = pgsched.now() - interval '10 s',"
        " fire_at = pgsched.now() - interval '10 s' where id = %s",
        [handed.id],
    )


def wait_over(db: Connection, id: UUID) -> None:
    """Travel to the next attempt of an execution."""
    db.execute("update pgsched.executions set fire_at = pgsched.now() where id = %s and lease_token is null", [id])
