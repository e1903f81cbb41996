"""A restored database over REST: preview what would fire, and release it by a policy."""

import asyncio
from typing import Any
from uuid import UUID

import httpx
import pytest

from pgsched.api import recovery
from tests.api.access_arrange import make_key
from tests.conftest import Connection
from tests.store.bulk.bulk_arrange import advance

_HELD = "select pgsched.pause('installation', note => 'this database is a copy')"
_DUE = """
insert into pgsched.executions (client_id, target, fire_at)
select client, 'https://shop.example/settle', now() - due::interval
  from (values ('shop', '2 days'), ('shop', '10 minutes'), ('bank', '3 hours'), ('bank', '-1 day')) v(client, due)"""
_STATE = "select held_since is not null, reason from pgsched.installation"
_SKIPPING = "select id from pgsched.bulk_operations where state = 'active'"
_WORK_LEFT = "select count(*) from pgsched.executions where fire_at <= now()"


@pytest.fixture
def copied(db: Connection) -> Connection:
    """A held installation with due executions."""
    db.execute(_DUE)
    db.execute(_HELD)
    return db


async def _skipping(db: Connection) -> UUID:
    """Waits for the bulk operation that a release starts."""
    async with asyncio.timeout(30):
        while not (row := db.execute(_SKIPPING).fetchone()):  # noqa: ASYNC110  the API starts it
            await asyncio.sleep(0.02)
    found: UUID = row[0]
    return found


def _release(api: httpx.AsyncClient, **policy: Any) -> "asyncio.Task[httpx.Response]":
    return asyncio.create_task(api.post("/v1/recovery/resume", json=policy))


async def test_a_preview_shows_overdue_executions_and_releases_nothing(
    api: httpx.AsyncClient, copied: Connection
) -> None:
    found = (await api.get("/v1/recovery")).json()
    assert (found["reason"], found["held_since"] is not None) == ("this database is a copy", True)
    by_client = [(one["client"], one["executions"], one["a_day_late"]) for one in found["overdue"]]
    assert by_client == [("shop", 2, 1), ("bank", 1, 0)]
    assert (len(found["oldest"]), found["calls"][0]["called"]) == (3, "shop.example")
    assert copied.execute(_STATE).fetchone() == (True, "this database is a copy")


async def test_a_release_can_skip_and_spread_executions_and_hold_clients(
    api: httpx.AsyncClient, copied: Connection
) -> None:
    api.headers["Authorization"] = f"Bearer {make_key(copied, subject='ann')}"
    asked = _release(api, skip_older_than="1h", rate=5, hold_clients=["bank"], note="restored")
    change = await _skipping(copied)
    while not advance(copied, change)[2]:  # as a worker does
        pass
    answer = await asked
    assert (answer.status_code, answer.json()) == (200, {"released": True, "skipped": 2, "spread": 1})
    history = copied.execute("select status::text, reason from pgsched.history").fetchall()
    assert history == [("cancelled", "restored")] * 2
    assert copied.execute(_STATE).fetchone() == (False, None)
    assert copied.execute("select client_id from pgsched.clients where state = 'held'").fetchall() == [("bank",)]
    actions = copied.execute("select action from pgsched.audit_log where authenticated ~ 'ann' order by id").fetchall()
    assert [action for (action,) in actions] == ["pause", "bulk cancel", "resume"]


async def test_a_release_without_a_policy_keeps_every_overdue_execution(
    api: httpx.AsyncClient, copied: Connection
) -> None:
    answer = await api.post("/v1/recovery/resume")
    assert (answer.status_code, answer.json()) == (200, {"released": True, "skipped": 0, "spread": 0})
    assert (copied.execute(_STATE).fetchone(), copied.execute(_WORK_LEFT).fetchone()) == ((False, None), (3,))


async def test_an_installation_stays_held_until_old_executions_are_skipped(
    api: httpx.AsyncClient, copied: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recovery, "_WITHIN", 0.1)
    answer = await _release(api, skip_older_than="1h")
    assert (answer.status_code, answer.json()["released"]) == (202, False)
    assert copied.execute(_STATE).fetchone() == (True, "this database is a copy")


async def test_an_installation_stays_held_if_its_skip_operation_is_stopped(
    api: httpx.AsyncClient, copied: Connection
) -> None:
    asked = _release(api, skip_older_than="1h")
    copied.execute("select pgsched.stop_bulk(%s)", [await _skipping(copied)])
    answer = await asked
    assert (answer.status_code, "still held" in answer.json()["detail"]) == (409, True)
    assert copied.execute(_STATE).fetchone() == (True, "this database is a copy")


async def test_an_installation_can_be_held_manually(api: httpx.AsyncClient, db: Connection) -> None:
    for changed in (True, False):
        answer = await api.post("/v1/recovery/pause", json={"note": "a copy for staging"})
        assert (answer.status_code, answer.json()) == (200, {"changed": changed})
    assert db.execute(_STATE).fetchone() == (True, "a copy for staging")


@pytest.mark.parametrize(
    "policy", [{"skip_older_than": "soon"}, {"rate": 0}, {"hold_clients": [""]}, {"skip": "1h"}], ids=str
)
async def test_an_invalid_release_policy_is_refused(
    api: httpx.AsyncClient, copied: Connection, policy: dict[str, Any]
) -> None:
    assert (await _release(api, **policy)).status_code in {400, 422}
    assert copied.execute(_STATE).fetchone() == (True, "this database is a copy")


@pytest.mark.parametrize("kind", [{"clients": ["shop"]}, {"scopes": ["read", "schedule", "operate"]}], ids=str)
async def test_recovery_needs_an_admin_api_key_for_all_clients(
    api: httpx.AsyncClient, copied: Connection, kind: dict[str, Any]
) -> None:
    api.headers["Authorization"] = f"Bearer {make_key(copied, **kind)}"
    answers = [await api.get("/v1/recovery")]
    answers += [await api.post(f"/v1/recovery/{verb}") for verb in ("pause", "resume")]
    assert [answer.status_code for answer in answers] == [403] * 3
    assert copied.execute(_STATE).fetchone() == (True, "this database is a copy")
