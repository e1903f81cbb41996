"""A client's channels are checked when something is scheduled through a function or as a job."""

import psycopg
import pytest

from pgsched.store.admin import settings_for_workers
from pgsched.store.core import connect
from tests.store.store_arrange import Connection, call, column, refused, schedule

pytestmark = pytest.mark.oldest_postgresql


@pytest.fixture(autouse=True)
def _shop_has_http_alone(db: Connection) -> None:
    call(db, "set_client", client="shop", changes={"channels": ["http"]})


@pytest.mark.parametrize("terms", [{}, {"key": "k"}, {"every": "1 hour"}, {"ordering_key": "o"}])
def test_a_target_outside_the_clients_channels_is_refused(db: Connection, terms: dict[str, str]) -> None:
    with refused("PS012", hint="its channels are http"):
        schedule(db, client="shop", target="python:work", **terms)
    schedule(db, client="shop", target="HTTPS://shop.example/", **terms)
    schedule(db, client="other", target="python:work", **terms)


def test_channels_are_checked_for_replacements_and_dependents(db: Connection) -> None:
    first = schedule(db, client="shop", key="k")
    with refused("PS012", hint="its channels are http"):
        schedule(db, client="shop", key="k", target="python:work")
    with refused("PS012", hint="its channels are http"):
        call(db, "schedule", client="shop", target="python:work", after=[str(first)])


def test_channels_are_checked_for_edited_and_inserted_jobs(db: Connection) -> None:
    job = schedule(db, client="shop", every="1 hour")
    with refused("PS012", hint="its channels"):
        call(db, "edit", id=job, changes={"target": "sql:shop.settle"})
    with pytest.raises(psycopg.Error, match="is not allowed to use notify targets"):
        db.execute("insert into pgsched.jobs (client_id, target, every) values ('shop', 'notify:orders', '1 hour')")
    call(db, "edit", id=job, changes={"every": "2h"})


def test_queue_targets_are_accepted_regardless_of_channels(db: Connection) -> None:
    call(db, "create_queue", name="pulled", changes={"pulled": True})
    schedule(db, client="shop", target="queue:", queue="pulled")
    db.execute("delete from pgsched.executions; select pgsched.drop_queue('pulled')")


async def test_workers_read_each_clients_channels(db: Connection, worker: connect.Connection) -> None:
    found = {one.client_id: one.channels for one in await settings_for_workers.client_settings(worker)}
    assert (found["shop"], found["default"]) == (["http"], None)


def test_a_notify_channel_reserved_by_a_client_is_refused_to_other_clients(db: Connection) -> None:
    schedule(db, client="other", target="notify:orders")
    call(db, "set_client", client="shop", changes={"channels": ["http", "notify:orders"]})
    schedule(db, client="shop", target="notify:orders")
    with refused("PS012", hint="its channels are http, notify:orders"):
        schedule(db, client="shop", target="notify:stock")
    for client in ("other", "third"):
        with refused("PS012", hint="a channel of your own"):
            schedule(db, client=client, target="notify:orders")
        schedule(db, client=client, target="notify:stock")
        call(db, "set_client", client="third", changes={"channels": ["notify"]})
    call(db, "set_client", client="other", changes={"channels": ["notify", "notify:orders"]})
    schedule(db, client="other", target="notify:orders")


@pytest.mark.parametrize("verb", ["set_client('shop', '{\"channels\": null}')", "drop_client('shop')"])
def test_a_client_cannot_remove_its_own_channel_restriction(db: Connection, verb: str) -> None:
    role = f"shop_{db.info.backend_pid}"
    db.execute(f"create role {role} in role pgsched_client".encode())
    db.execute("update pgsched.clients set database_role = %s where client_id = 'shop'", [role])
    db.execute(f"grant execute on function pgsched.set_client, pgsched.drop_client(text, text) to {role}".encode())
    try:
        with db.transaction(force_rollback=True):
            db.execute(f"set local role {role}".encode())
            with refused("PS012"):
                db.execute(f"select pgsched.{verb}".encode())
    finally:
        db.execute(f"drop owned by {role}; drop role {role}".encode())
    assert column(db, "select channels from pgsched.clients where client_id = 'shop'") == [["http"]]


@pytest.mark.parametrize("channels", [[], ["smtp"], "http", [None], [1], {"http": 1}, ["kafka:x"]])
def test_invalid_channels_are_refused(db: Connection, channels: object) -> None:
    with refused("PS000", hint="write a list with any of http"):
        call(db, "set_client", client="shop", changes={"channels": channels})
