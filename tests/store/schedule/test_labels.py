"""Labels of one-shots: set wherever one is scheduled, kept in history, and used in filters."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest
from psycopg import sql
from psycopg.types.json import Jsonb

from pgsched.store.core import connect
from pgsched.store.lookup import executions_and_jobs
from pgsched.store.lookup.filters import DeadLetterFilter, ExecutionFilter
from tests.store.store_arrange import Connection, acting, call, finish, login_role, refused, row, schedule, value

pytestmark = pytest.mark.oldest_postgresql

SPRING = {"campaign": "spring", "team": "mail"}
Ways = dict[str, Callable[[Connection], UUID]]


def _after(db: Connection) -> UUID:
    return schedule(db, labels=SPRING, after=[str(schedule(db))])


def _inserted(db: Connection) -> UUID:
    query = "insert into pgsched.executions (target, fire_at, labels) values ('notify:a', 'infinity', %s) returning id"
    found = value(db, query, ['{"team": "mail", "campaign": "spring"}'])
    assert isinstance(found, UUID)
    return found


def _of_a_key_moved(db: Connection) -> UUID:
    schedule(db, key="k", labels={"campaign": "winter"})
    return schedule(db, key="k", labels=SPRING, ordering_key="o")


WAYS: Ways = {
    "plain": lambda db: schedule(db, labels=SPRING),
    "under a key": lambda db: schedule(db, labels=SPRING, key="k"),
    "after another": _after,
    "inserted": _inserted,
    "under a key that moves": _of_a_key_moved,
}


def labels_of(db: Connection, id: UUID) -> Any:
    return value(db, "select labels from pgsched.status where id = %s", [id])


@pytest.mark.parametrize("way", WAYS)
def test_an_executions_labels_are_kept_in_history(db: Connection, way: str) -> None:
    id = WAYS[way](db)
    assert labels_of(db, id) == SPRING
    finish(db, id)
    assert labels_of(db, id) == SPRING


def test_rescheduling_replaces_labels_and_debouncing_keeps_them(db: Connection) -> None:
    id = schedule(db, key="k", labels=SPRING)
    schedule(db, key="k", labels={"team": "sales"}, on_conflict="debounce")
    assert labels_of(db, id) == SPRING
    schedule(db, key="k", labels={"team": "sales"})
    assert labels_of(db, id) == {"team": "sales"}
    schedule(db, key="k")
    assert labels_of(db, id) is None


def test_a_dead_letter_and_its_replay_keep_the_labels(db: Connection) -> None:
    id = schedule(db, labels=SPRING)
    finish(db, id, ended="failed", ago="40 days")
    assert labels_of(db, call(db, "replay", id=id)) == SPRING
    db.execute("update pgsched.history set replayed_as = null, dealt_with_at = null")
    value(db, "select pgsched_internal.keep_dead_letters(30, 10)")
    assert row(db, "select labels from pgsched_internal.kept_dead_letters") == (SPRING,)
    assert labels_of(db, call(db, "replay", id=id)) == SPRING


MANY = {f"n{n}": "a" for n in range(33)}


@pytest.mark.parametrize(
    "labels",
    [[], "team", {"team": 1}, {"team": None}, {"x" * 64: "a"}, {"a": "x" * 201}, MANY, {"": "a"}, {"a=b": "c"}],
)
def test_invalid_labels_are_refused(db: Connection, labels: Any) -> None:
    with refused("PS000", hint="write labels"):
        row(db, "select pgsched.schedule('notify:a', labels => %s)", [Jsonb(labels)])
    with refused("PS000", hint="write labels"):
        db.execute("insert into pgsched.executions (target, fire_at, labels) values ('notify:a', now(), %s)",
                   [Jsonb(labels)])  # fmt: skip


def test_filtering_by_labels_shows_a_client_only_its_own_executions(db: Connection, store_url: str) -> None:
    role = login_role(db, "pgsched_client")
    db.execute("insert into pgsched.clients (client_id, database_role) values ('payments', %s)", [role])
    schedule(db, labels=SPRING, client="shop")
    with acting(store_url, role) as session:
        mine = call(session, "schedule", target="notify:a", client="payments", labels=SPRING)
        session.execute(
            "insert into pgsched.executions (client_id, target, fire_at, labels)"
            " values ('payments', 'notify:a', now(), %s)",
            [Jsonb({"team": "other"})],
        )
        query = "select id from pgsched.status where labels @> %s"
        assert [found[0] for found in session.execute(query, [Jsonb({"team": "mail"})])] == [mine]
    db.execute(sql.SQL("drop role {}").format(sql.Identifier(role)))


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ({"team": "mail"}, ["live", "ended"]),
        ({"team": "mail", "campaign": "spring"}, ["live"]),
        ({"campaign": "autumn"}, ["ended"]),
        ({"team": "%"}, []),
        ({"mail": "team"}, []),
    ],
)
async def test_a_label_filter_matches_only_executions_with_all_given_labels(
    db: Connection, worker: connect.Connection, labels: dict[str, str], expected: list[str]
) -> None:
    ids = {"ended": schedule(db, client="shop", labels={"team": "mail", "campaign": "autumn"})}
    finish(db, ids["ended"])
    ids["live"] = schedule(db, client="shop", labels=SPRING)
    schedule(db, client="shop")
    foreign = schedule(db, client="other", labels=SPRING | {"campaign": "winter"})
    for client in ("shop", None):
        wanted = ExecutionFilter(client=client, labels=labels)
        found = [found.id for found in (await executions_and_jobs.list_executions(worker, wanted, limit=10)).items]
        assert [id for id in found if id != foreign] == [ids[name] for name in expected]
        assert (foreign in found) is (client is None and labels == {"team": "mail"})


async def test_a_label_filter_applies_to_dead_letters(db: Connection, worker: connect.Connection) -> None:
    ids = [schedule(db, labels={"team": team}) for team in ("mail", "sales")]
    ids.append(schedule(db))
    for id in ids:
        finish(db, id, ended="failed")
    wanted = DeadLetterFilter(labels={"team": "mail"})
    found = await executions_and_jobs.list_dead_letters(worker, wanted, state="open", limit=10)
    assert [letter.id for letter in found.items] == ids[:1]
    assert value(db, "select matched from pgsched.bulk('discard', %s)", [wanted.as_json()]) == 1


@pytest.mark.parametrize(
    "filter", ['{"labels": {}}', '{"labels": "team"}', '{"labels": {"team": 5}}', '{"labels": null}']
)
def test_a_bulk_filter_with_invalid_labels_is_refused(db: Connection, filter: str) -> None:
    with refused("PS000"):
        db.execute("select pgsched.bulk('discard', %s)", [filter])
