"""Routes accept a job's or execution's key in place of its id, and an API key finds only its clients' rows."""

from typing import Any

import httpx
from litestar import Litestar

from pgsched.api.access import PUBLIC, SCOPE
from pgsched.api.request_reading import KINDS
from tests.api.access_arrange import make_key
from tests.api.conftest import app_of
from tests.conftest import Connection
from tests.names import NAMES
from tests.store.ends.dead_letter_arrange import dead_letter
from tests.store.store_arrange import call, schedule

_ID = "0198c5a4-7b1e-7c3a-9f52-3d1f0a6e2b47"
_BODIES: dict[str, dict[str, Any]] = {
    "edit_job": {"target": "python:other"},
    "preview_edit": {"target": "python:other"},
    "edit_execution": {"target": "python:other"},
}
_SETTLED = {"complete", "fail", "extend", "release"}


def _routes(app: Litestar) -> dict[str, tuple[str, str]]:
    found = {}
    for route in app.routes:
        for handler in getattr(route, "route_handlers", ()):
            named = any(f"{{{part}:str}}" in route.path for part in KINDS)
            if named and handler.opt.get(SCOPE) != PUBLIC and route.path.startswith("/v1/"):
                for method in handler.http_methods - {"OPTIONS"}:
                    found[handler.fn.__name__] = (method, route.path)
    return found


def _make(db: Connection, name: str, path: str, key: str, client: str) -> None:
    if "dead" in path or name == "replay":
        dead_letter(db, key=key, client=client)
    elif "job_id" in path:
        schedule(db, key=key, client=client, every="1 hour")
    else:
        schedule(db, key=key, client=client, target="python:note", delay="1 hour")


async def _ask(api: httpx.AsyncClient, name: str, method: str, path: str, part: str, query: str = "") -> httpx.Response:
    for one in KINDS:
        path = path.replace(f"{{{one}:str}}", part)
    return await api.request(method, path + query, json=_BODIES.get(name))


async def test_every_route_that_takes_an_id_also_accepts_a_key(
    api: httpx.AsyncClient, db: Connection, database_url: str
) -> None:
    routes = _routes(app_of(database_url))
    assert len(routes) == 14
    for name, (method, path) in routes.items():
        key = f"k-{name}"
        _make(db, name, path, key, "one")
        found = await _ask(api, name, method, path, key)
        assert found.is_success, (name, found.text)


async def test_a_key_used_by_two_clients_needs_the_client_parameter(
    api: httpx.AsyncClient, db: Connection, database_url: str
) -> None:
    for name, (method, path) in _routes(app_of(database_url)).items():
        key = f"k-{name}"
        for client in ("one", "two"):
            _make(db, name, path, key, client)
        unclear = await _ask(api, name, method, path, key)
        assert (unclear.status_code, unclear.json()["code"]) == (422, "pgsched.invalid_input"), name
        assert "name one of the clients one, two" in unclear.json()["detail"]
        found = await _ask(api, name, method, path, key, "?client=two")
        assert found.is_success, (name, found.text)
        missing = await _ask(api, name, method, path, f"{key}-none")
        assert (missing.status_code, missing.json()["code"]) == (404, "pgsched.not_found"), name


async def test_a_job_is_found_by_a_key_with_any_characters(api: httpx.AsyncClient, db: Connection) -> None:
    ids = {key: str(schedule(db, key=key, every="1 hour")) for key in (*NAMES, _ID, "pause", "batch", "key:x")}
    found = {}
    for key in ids:
        part = "".join(f"%{byte:02X}" for byte in f"key:{key}".encode())
        found[key] = (await api.get(f"/v1/jobs/{part}")).json().get("id")
    assert found == ids


async def test_a_key_used_by_two_clients_finds_the_named_clients_job(api: httpx.AsyncClient, db: Connection) -> None:
    ids = {client: str(schedule(db, key="k", client=client, every="1 hour")) for client in ("one", "two")}
    for client in ("one", "two", "one"):
        assert (await api.get(f"/v1/jobs/k?client={client}")).json()["id"] == ids[client]


async def test_an_id_together_with_the_client_parameter_is_refused(api: httpx.AsyncClient, db: Connection) -> None:
    id = schedule(db, every="1 hour")
    assert "unknown parameter" in (await api.get(f"/v1/jobs/{id}?client=default")).json()["detail"]


async def test_settling_a_message_by_key_is_refused(api: httpx.AsyncClient, db: Connection) -> None:
    schedule(db, key="k", target="python:note", delay="1 hour")
    for verb in sorted(_SETTLED):
        answer = await api.post(
            f"/v1/executions/k/{verb}", json={"token": "1", "error": "no"} if verb == "fail" else {"token": "1"}
        )
        assert answer.status_code == 400, (verb, answer.text)


async def test_the_delete_job_route_also_cancels_an_execution_by_key(api: httpx.AsyncClient, db: Connection) -> None:
    id = str(schedule(db, key="k", target="python:note", delay="1 hour"))
    assert (await api.delete("/v1/jobs/k")).json() == {"id": id, "changed": True}


async def test_an_api_key_finds_only_its_own_clients_jobs(keyed: httpx.AsyncClient, db: Connection) -> None:
    for client in ("one", "two"):
        schedule(db, key="nightly", client=client, every="1 hour")
    call(db, "cancel", client="two", key="nightly")
    headers = {"Authorization": f"Bearer {make_key(db, clients=['one'])}"}
    assert (await keyed.get("/v1/jobs/nightly", headers=headers)).json()["client"] == "one"
    assert (await keyed.get("/v1/jobs/nightly?client=two", headers=headers)).status_code == 403
    other = {"Authorization": f"Bearer {make_key(db, clients=['three'])}"}
    assert (await keyed.get("/v1/jobs/nightly", headers=other)).status_code == 404
