"""Secrets over REST: set and listed by name; their values are never shown."""

import httpx
import pytest

from pgsched.api.app import create_app
from pgsched.settings import Settings
from tests.api.access_arrange import make_key
from tests.api.serving import serving
from tests.conftest import Connection


async def test_a_stored_secrets_value_is_never_shown(api: httpx.AsyncClient) -> None:
    answers = [await api.put("/v1/clients/shop/secrets/token", json={"value": "hush-hush"}) for _ in range(2)]
    assert [answer.json() for answer in answers] == [{"client": "shop", "name": "token", "changed": True}] * 2
    listed = await api.get("/v1/clients/shop/secrets")
    assert [item["name"] for item in listed.json()["items"]] == ["token"]
    await api.post("/v1/jobs", json={"target": "https://a", "options": {"headers": {"x": {"secret": "token"}}}})
    shown = [
        listed,
        *[await api.get(f"/v1/{path}") for path in ("clients/shop", "executions", "audit", "jobs")],
    ]
    assert not [answer.url for answer in shown if "hush" in answer.text]
    dropped = [await api.delete("/v1/clients/shop/secrets/token") for _ in range(2)]
    assert [answer.json()["changed"] for answer in dropped] == [True, False]


async def test_an_api_key_can_set_only_its_own_clients_secrets(api: httpx.AsyncClient, db: Connection) -> None:
    headers = {"Authorization": f"Bearer {make_key(db, clients=['shop'])}"}
    put = [
        await api.put(f"/v1/clients/{client}/secrets/token", json={"value": "hush"}, headers=headers)
        for client in ("shop", "orders")
    ]
    assert [answer.status_code for answer in put] == [200, 403]


async def test_the_error_for_missing_secret_keys_names_the_setting(database_url: str) -> None:
    async with serving(create_app(Settings(database_url=database_url))) as keyless:
        answers = [
            await keyless.put("/v1/clients/shop/secrets/token", json={"value": "hush-hush"}),
            await keyless.post("/v1/clients/shop/signing-secret", json={"secret": "whsec_" + "hush" * 8}),
        ]
    for answer in answers:
        assert (answer.status_code, "PGSCHED_SECRET_KEYS" in answer.json()["detail"]) == (409, True)
        assert "hush" not in answer.text


async def test_an_invalid_signing_secret_is_refused_and_not_repeated(api: httpx.AsyncClient) -> None:
    answer = await api.post("/v1/clients/shop/signing-secret", json={"secret": "whsec_hush"})
    assert (answer.status_code, "whsec_ followed by the base64" in answer.json()["detail"]) == (422, True)
    assert "hush" not in answer.text


@pytest.mark.parametrize(("name", "value"), [("a%20b", "hush"), ("token", "hush" * 5000), ("token", "hush\x00")])
async def test_an_invalid_secret_is_refused(api: httpx.AsyncClient, name: str, value: str) -> None:
    answer = await api.put(f"/v1/clients/shop/secrets/{name}", json={"value": value})
    assert answer.status_code == 422
    assert "hush" not in answer.text
