"""The audit log has the values before and after each change, however the change was made, but no secrets."""

import re
from collections.abc import Callable
from typing import Any

import pytest

from tests.store.bulk.bulk_arrange import bulk
from tests.store.ends.dead_letter_arrange import dead_letter
from tests.store.jobs.jobs_arrange import planned_row
from tests.store.store_arrange import TARGET, Connection, call, column, rotate, row, schedule, value

pytestmark = pytest.mark.oldest_postgresql

KEY = "0123456789abcdef"
_LOGGING = r"write_log"
_SETTINGS = ("clients", "installation", "queues", "jobs", "api_keys", "bulk_operations", "gates")


def key(db: Connection, **more: Any) -> None:
    given = {"subject": "shop", "clients": None, "scopes": ["read"], "expires_at": None, **more}
    call(db, "pgsched_internal.create_key", id=KEY, hash=b"1" * 32, **given)


def job(db: Connection) -> Any:
    return schedule(db, every="1 hour", client="shop", key="hourly")


def blocked(db: Connection) -> None:
    db.execute(
        "insert into pgsched.blocked_keys (client_id, ordering_key, partition, execution_id)"
        " values ('shop', 'order-42', 0, gen_random_uuid())"
    )


def worker(db: Connection) -> int:
    db.execute(
        "insert into pgsched.workers (id, name, queues, release, expires_at) overriding system value"
        " values (7, 'here:1', '{default}', '1', now() + interval '1 h')"
    )
    return 7


def planned(db: Connection) -> Any:
    """Creates a job and returns the planned execution of its next run."""
    id = job(db)
    planned_row(db, id, value(db, "select pgsched.now() + interval '1 hour'"))
    return value(db, "select id from pgsched.executions where job_id = %s", [id])


def replay(db: Connection) -> Any:
    return bulk(db, "replay", {"client": "shop"})


_OTHERWISE = {"set key rate", "edit job", "edit execution", "set paused", "bulk"}
"""Functions whose log action differs from the function's name."""
# For each function that writes the log: the preparation, which returns the id, and the call.
VERBS: dict[str, tuple[Callable[[Connection], Any], str]] = {
    "set_client": (lambda db: None, "pgsched.set_client('shop', '{\"weight\": 5}')"),
    "drop_client": (lambda db: call(db, "set_client", client="shop"), "pgsched.drop_client('shop')"),
    "rotate_signing_secret": (
        lambda db: None,
        "pgsched_internal.rotate_signing_secret('shop', decode(repeat('00', 75), 'hex'), 'LaSw')",
    ),
    "drop_signing_secret": (lambda db: rotate(db), "pgsched.drop_signing_secret('shop')"),
    "create_queue": (lambda db: None, "pgsched.create_queue('orders')"),
    "set_queue": (lambda db: None, "pgsched.set_queue('default', '{\"weight\": 5}')"),
    "drop_queue": (lambda db: call(db, "create_queue", name="orders"), "pgsched.drop_queue('orders')"),
    "set_installation": (lambda db: None, "pgsched.set_installation('{\"history_days\": 60}')"),
    "mark_archived": (lambda db: None, "pgsched_internal.mark_archived('2026-01-01')"),
    "set_limit": (lambda db: None, "pgsched.set_limit('client', 'shop', rate => 5)"),
    "drop_limit": (
        lambda db: call(db, "set_limit", kind="client", name="shop", rate=5),
        "pgsched.drop_limit('client', 'shop')",
    ),
    "create_key": (
        lambda db: None,
        f"pgsched_internal.create_key('{KEY}', sha256(''), 'shop', null, array['read'], null)",
    ),
    "rotate_key": (key, f"pgsched_internal.rotate_key('{KEY}', sha256('new'))"),
    "revoke_key": (key, f"pgsched_internal.revoke_key('{KEY}')"),
    "set_key_rate": (key, f"pgsched_internal.set_key_rate('{KEY}', 5)"),
    "put_secret": (
        lambda db: call(db, "set_client", client="shop"),
        "pgsched_internal.put_secret('shop', 'token', sha256('') || sha256(''))",
    ),
    "drop_secret": (
        lambda db: db.execute("select pgsched_internal.put_secret('shop', 'token', sha256('') || sha256(''))"),
        "pgsched.drop_secret('shop', 'token')",
    ),
    "set_paused": (job, "pgsched.pause('job', %(id)s::text)"),
    "cancel": (job, "pgsched.cancel(%(id)s::uuid, actor => 'ann')"),
    "take_out": (planned, "pgsched.cancel(%(id)s::uuid, actor => 'ann')"),
    "edit_job": (job, 'pgsched.edit(%(id)s, \'{"every": "2h"}\')'),
    "trigger": (job, "pgsched.trigger(%(id)s)"),
    "edit_execution": (schedule, "pgsched.edit(%(id)s, '{\"payload\": 5}')"),
    "replay": (dead_letter, "pgsched.replay(%(id)s)"),
    "discard": (dead_letter, "pgsched.discard(%(id)s)"),
    "bulk": (lambda db: None, "pgsched.bulk('cancel', '{\"client\": \"shop\"}')"),
    "stop_bulk": (replay, "pgsched.stop_bulk(%(id)s)"),
}


def do(db: Connection, verb: str) -> None:
    there_is, asked = VERBS[verb]
    id = there_is(db)
    db.execute("delete from pgsched.audit_log")
    db.execute(f"select {asked}".encode(), {"id": id})


def test_the_tested_verbs_include_every_function_that_logs(db: Connection) -> None:
    writing = column(
        db,
        "select distinct proname::text from pg_proc where pronamespace::regnamespace::text like 'pgsched%%'"
        " and prosrc ~ %s and proname !~ %s",
        [rf"perform pgsched_internal\.({_LOGGING})\(", f"^({_LOGGING}|log_change)$"],
    )
    assert set(writing) == VERBS.keys()


def test_each_verb_logs_its_action_and_the_changed_values(db: Connection) -> None:
    for verb in VERBS:
        with db.transaction(force_rollback=True):
            do(db, verb)
            named = verb.replace("_", " ")
            query = "select action, kind, coalesce(before, after) is not null from pgsched.audit_log order by id"
            found = [tuple(one) for one in db.execute(query)]
            assert found, verb
            assert all(has for _, _, has in found), (verb, found)
            words = {action for action, _, _ in found}
            assert not words & {"insert", "update", "delete"}, (verb, found)
            assert named in _OTHERWISE | words, (verb, found)


PAUSED: dict[str, tuple[Callable[[Connection], Any], dict[str, Any]]] = {
    "job": (job, {}),
    "client": (lambda db: "shop", {}),
    "queue": (lambda db: "default", {}),
    "worker": (worker, {}),
    "target": (lambda db: "shop.example", {"client": "shop"}),
    "installation": (lambda db: None, {}),
}


@pytest.mark.parametrize("kind", PAUSED)
def test_pause_and_resume_are_logged_alike_for_each_kind(db: Connection, kind: str) -> None:
    made, named = PAUSED[kind]
    if (name := made(db)) is not None:
        named = named | {"name": str(name)}
    db.execute("delete from pgsched.audit_log")
    for verb in ("pause", "resume"):
        assert [call(db, verb, kind=kind, **named, note="why", actor="ann") for _ in range(2)] == [True, False]
    found = db.execute(
        "select actor, action, kind, detail, before, after from pgsched.audit_log order by id"
    ).fetchall()
    assert [tuple(one[:4]) for one in found] == [("ann", verb, kind, {"note": "why"}) for verb in ("pause", "resume")]
    assert all(before != after for *_, before, after in found)


def test_unblocking_an_ordering_key_is_logged_as_a_resume(db: Connection) -> None:
    blocked(db)
    named = {"kind": "ordering_key", "name": "order-42", "client": "shop"}
    assert [call(db, "resume", **named, note="why", actor="ann") for _ in range(2)] == [True, False]
    found = row(db, "select actor, action, kind, name, client_id, detail from pgsched.audit_log where actor = 'ann'")
    assert found == ("ann", "resume", "ordering_key", "shop/order-42", "shop", {"note": "why"})


def test_an_edit_logs_only_the_changed_fields(db: Connection) -> None:
    id = job(db)
    call(db, "edit", id=id, changes={"every": "2h", "target": f"{TARGET}/x?token=hush"}, actor="ann")
    found = row(db, "select actor, kind, name, before, after from pgsched.audit_log where action = 'edit'")
    before, after = {"every": "01:00:00", "target": TARGET}, {"every": "02:00:00", "target": f"{TARGET}/x?…"}
    assert found == ("ann", "job", str(id), before, after)


def test_changes_made_with_plain_sql_are_logged(db: Connection) -> None:
    id = job(db)
    db.execute("update pgsched.jobs set cron = '0 2 * * *', every = null where id = %s", [id])
    db.execute("insert into pgsched.clients (client_id, weight) values ('shop', 3)")
    db.execute("update pgsched.clients set weight = 4, keep = 'failures' where client_id = 'shop'")
    db.execute("delete from pgsched.clients where client_id = 'shop'")
    query = "select action, kind, before, after from pgsched.audit_log where actor = current_user order by id"
    found = [tuple(one) for one in db.execute(query)]
    assert [(action, kind) for action, kind, _, _ in found] == [
        ("insert", "job"), ("update", "job"), ("insert", "client"), ("update", "client"), ("delete", "client"),
    ]  # fmt: skip
    assert found[1][2:] == ({"every": "01:00:00"}, {"cron": "0 2 * * *"})
    assert found[3][2:] == ({"weight": 3, "keep": "all"}, {"weight": 4, "keep": "failures"})
    assert (found[4][2]["weight"], found[4][3]) == (4, None)


def test_changes_to_a_row_in_one_transaction_create_one_log_entry(db: Connection) -> None:
    with db.transaction():
        id = job(db)
        call(db, "edit", id=id, changes={"declared_by": "jobs.toml"}, actor="ann")
    found = row(db, "select actor, action, before, after ->> 'declared_by', after ->> 'every' from pgsched.audit_log")
    assert found == ("ann", "edit", None, "jobs.toml", "01:00:00")


def test_changes_to_two_jobs_in_one_transaction_are_logged_separately(db: Connection) -> None:
    other = job(db)
    with db.transaction():
        schedule(db, every="1 hour", key="k")
        call(db, "trigger", job_id=other)
        call(db, "pause", kind="job", name=str(other))
    query = "select action, subject = %s from pgsched.audit_log order by id offset 1"
    assert [tuple(one) for one in db.execute(query, [other])] == [("insert", False), ("trigger", True), ("pause", True)]


def test_payloads_headers_and_secrets_are_not_logged(db: Connection) -> None:
    secret = "hush-" * 5
    headers = {"headers": {"X-Token": secret}}
    there = {"target": f"{TARGET}?k={secret}", "payload": {"pin": secret}, "options": headers}
    id = schedule(db, every="1 hour", **there)
    call(db, "edit", id=id, changes={"payload": {"pin": secret * 2}, "options": {"headers": {"X-Token": secret * 2}}})
    call(db, "set_client", client="shop", changes={"options": headers, "dead_letter_target": f"{TARGET}?k={secret}"})
    made = rotate(db)
    bulk(db, "replay", {"target": f"{TARGET}?k={secret}"}, target=f"{TARGET}?k={secret}")
    bulk(db, "replay", {"client": "shop"}, note="what: is it? fine")
    key(db)
    told = str(db.execute("select before, after, detail from pgsched.audit_log").fetchall())
    assert "hush" not in told
    assert "what: is it? fine" in told
    assert made not in told
    assert (b"1" * 32).hex() not in told
    edited = row(db, "select before, after from pgsched.audit_log where action = 'edit'")
    assert [one["options"]["headers"] for one in edited] == [{"X-Token": "…"}] * 2
    assert [list(one["payload"]) for one in edited] == [["bytes"], ["bytes"]]


def test_the_log_entry_size_is_bounded(db: Connection) -> None:
    labels = {f"label-{n}": "x" * 60 for n in range(30)}
    schedule(db, every="1 hour", payload={"x": "x" * 100_000}, labels=labels)
    assert value(db, "select pg_column_size(after) < 20000 from pgsched.audit_log")


def test_updates_to_worker_columns_are_not_logged(db: Connection) -> None:
    id = job(db)
    db.execute("delete from pgsched.audit_log")
    db.execute(
        "update pgsched.jobs set planned_revision = revision, runs = runs + 1, accounted_to = now() where id = %s", [id]
    )
    db.execute("update pgsched.queues set full_since = now()")
    db.execute(
        "insert into pgsched_internal.gates (name, events, period, shut_until) values ('circuit:h c', 1, '1s', now())"
    )
    db.execute("update pgsched_internal.gates set next_at = now(), shut_until = null")
    assert column(db, "select action from pgsched.audit_log") == []


def test_each_settings_column_is_logged_or_listed_as_unlogged(db: Connection) -> None:
    text = value(db, "select substring(prosrc from 'ours constant.*?];') from pg_proc where proname = 'log_change'")
    ours = set(re.findall(r"'(\w+)'", text))
    query = """
        select c.relname || '.' || a.attname, a.attname from pg_attribute a join pg_class c on c.oid = a.attrelid
         where c.relnamespace::regnamespace::text like 'pgsched%%' and c.relname = any (%s) and a.attnum > 0
           and not a.attisdropped and not exists (
             select from pg_trigger t where t.tgrelid = c.oid and t.tgname in ('changed', 'unlimited')
                and (cardinality(t.tgattr::int2[]) = 0 or a.attnum = any (t.tgattr::int2[])))"""
    left = {name for name, column in db.execute(query, [list(_SETTINGS)]) if column not in ours}
    assert left == {
        "jobs.reason", "jobs.paused_at", "queues.name", "queues.first_partition", "gates.name", "gates.reason",
        "gates.client_id",
        "bulk_operations.clients", "bulk_operations.job_id", "bulk_operations.actor", "bulk_operations.reason",
            "bulk_operations.note",
        "api_keys.former_hash", "api_keys.former_until",
    }  # fmt: skip
