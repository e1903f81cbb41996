"""Secrets from the command line, and a whole run of `up` that must disclose no secret."""

import base64
import json
import re
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest

from pgsched import Client
from pgsched.domain.secret import new_signing_secret
from tests.cli.conftest import Run, Start, answer, command_lines
from tests.cli.secrets_arrange import (
    Needles,
    World,
    client_certificate,
    dump_of,
    environments,
    forms_of,
    forms_of_key,
    forms_of_signing_secret,
    found_in,
    service_account,
    serving_world,
)
from tests.delivery.receiver import TLS


def until(condition: Callable[[], bool], *, within: float = 30.0) -> None:
    end = time.monotonic() + within
    while not condition():
        assert time.monotonic() < end, "the condition was not met in time"
        time.sleep(0.02)


def pgsched(*words: str, text: str = "", **environment: str) -> Any:
    command = [sys.executable, "-m", "pgsched.cli.main", *words, "--json"]
    found = subprocess.run(command, input=text, capture_output=True, text=True, env=environment, check=False)
    assert found.returncode == 0, found.stderr
    return json.loads(found.stdout)


def test_a_secret_can_be_stored_listed_resealed_and_dropped(
    run: Run, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGSCHED_DATABASE_URL", database_url)
    old, new = (run("admin", "secrets", "new-key").output.strip() for _ in range(2))
    there = {"PGSCHED_DATABASE_URL": database_url, "PGSCHED_SECRET_KEYS": old}
    put = [pgsched("admin", "secrets", "put", "shop", "token", text="hush-hush\n", **there)["made"] for _ in range(2)]
    assert put == [True, False]
    assert "token" in run("admin", "secrets", "list", "shop").output
    pgsched(
        "admin",
        "secrets",
        "put",
        "shop",
        "token",
        "--host",
        "Shop.Example",
        "--host",
        "b.example:80",
        text="hush",
        **there,
    )
    [listed] = pgsched("admin", "secrets", "list", "shop", **there)["items"]
    assert listed["hosts"] == ["b.example", "shop.example"]
    monkeypatch.setenv("PGSCHED_SECRET_KEYS", f"{new},{old}")
    assert "1 resealed" in run("admin", "secrets", "reseal").output
    monkeypatch.setenv("PGSCHED_SECRET_KEYS", old)
    refused = run("admin", "secrets", "reseal")
    assert (refused.exit_code, "its secret token" in refused.stderr) == (1, True)
    assert "dropped" in run("admin", "secrets", "drop", "shop", "token").output
    with psycopg.connect(database_url) as connection:
        assert connection.execute("select count(*) from pgsched_internal.secrets").fetchone() == (0,)


_LISTINGS = (
    "executions", "jobs", "audit", "clients/shop", "clients/shop/secrets", "dead-letters", "clients", "keys", "limits",
    "queues", "stats", "workers",
)  # fmt: skip
_PAGES = (
    "/", "/executions", "/dead-letters", "/jobs", "/clients", "/client?name=shop", "/targets", "/queues", "/limits",
    "/database", "/executions?client=",
)  # fmt: skip
_BEARER = {"headers": {"authorization": {"secret": "token", "prefix": "Bearer "}}}


class _Use:
    """Uses each kind of secret at least once, against ``up`` with its own PostgreSQL."""

    def __init__(self, said: dict[str, Any], world: World) -> None:
        self.said, self.world = said, world
        self.account, self.pem = service_account(f"{world.url}/token"), client_certificate()
        self.key = Path(".pgsched/authorization").read_text().split()[-1]
        self.signing = [new_signing_secret()]

    def put(self, client: Client) -> str:
        """Stores the secrets and returns another API key."""
        texts = {"token": "hush-token", "oauth": "hush-oauth", "bad": "hush\nbad", "google": self.account}
        for name, text in (texts | {"bank": self.pem}).items():
            hosts = [url.partition("//")[2] for url in (self.world.url, self.world.tls_url)]
            client.put_secret("shop", name, text, hosts=hosts)
        client.rotate_signing_secret("shop", secret=self.signing[0])
        self.signing.append(client.rotate_signing_secret("shop"))
        headers = {"Authorization": f"Bearer {self.key}"}
        asked = {"subject": "reader", "scopes": ["read"]}
        made = httpx.post(f"{self.said['url']}/v1/keys", json=asked, headers=headers).json()
        return str(made["token"])

    def schedule(self, client: Client) -> int:
        """Schedules executions that use the secrets and returns their number."""
        url = self.world.url
        oauth2 = {"token_url": f"{url}/token", "client_id": "us", "client_secret": "oauth"}
        asked: list[tuple[str, str, dict[str, Any]]] = [
            *(("shop", url + path, _BEARER) for path in ("/up", "/down")),
            *(("shop", url + path, {"auth": {"oauth2": oauth2}}) for path in ("/up", "/down")),
            ("shop", f"{url}/up", {"auth": {"google": {"key": "google"}}}),
            ("shop", f"{url}/up", {"headers": {"x": {"secret": "bad"}}}),
            ("shop", f"{self.world.tls_url}/bank", {"tls": {"certificate": "bank"}}),
            ("mallory", f"{url}/stolen", _BEARER),
            ("mallory", f"{self.world.tls_url}/stolen", {"tls": {"certificate": "bank"}}),
        ]
        for name, target, options in asked:
            client.schedule(target, client=name, options=options | {"max_attempts": 2, "backoff": ["1ms"]})
        return len(asked)

    def answers(self, ids: list[Any], key: str) -> str:
        headers = {"Authorization": f"Bearer {self.key}"}
        pages = [*_LISTINGS, *(f"executions/{id}" for id in ids)]
        with httpx.Client(base_url=f"{self.said['url']}/v1", headers=headers) as api:
            told = [api.get(page).text for page in pages]
            told += [api.get("events?after=0.0.0..&wait=0s").text, api.get("doctor").text]
            told += [api.get("clients", headers={"Authorization": f"Bearer {key[:-1]}"}).text]
            told += [api.put("clients/shop/secrets/a%20b", json={"value": "hush-token"}).text]
            told += [api.post("clients/shop/signing-secret", json={"secret": f"{self.signing[0]}!"}).text]
        # up prints one password on purpose, in the URL for other programs.
        return "\n".join([*told, json.dumps(self.said | {"database_url": ""})])

    def pages(self, ids: list[Any]) -> str:
        with httpx.Client(base_url=self.said["url"], cookies={"pgsched_key": self.key}) as browser:
            found = [browser.get(page) for page in (*_PAGES, *(f"/executions/{id}" for id in ids))]
            found.append(browser.get("/metrics", headers={"Authorization": f"Bearer {self.key}"}))
        assert {answer.status_code for answer in found} == {200}
        return "\n".join(answer.text for answer in found)

    def needles(self, key: str) -> Needles:
        place = Path(".pgsched")
        sealing = (place / "secret-keys").read_text().strip()
        passwords = [line.rpartition(":")[2] for line in (place / "postgres/logins").read_text().split()]
        passwords.append((place / "postgres/password").read_text().strip())
        return {
            "header": [*forms_of("hush-token"), "hush"],
            "oauth2": forms_of("hush-oauth"),
            "token": forms_of("hush-access"),
            "google": forms_of_key(self.account),
            "certificate": forms_of_key(self.pem),
            "signing": [form for text in self.signing for form in forms_of_signing_secret(text)],
            "keys of the API": [token.split("_", 2)[2] for token in (key, self.key)],
            "passwords": passwords,
            "sealing": [sealing, base64.b64decode(sealing).hex()],
        }


@pytest.fixture
def world() -> Any:
    with serving_world() as found:
        yield found


@pytest.mark.usefixtures("made_before")
def test_secrets_never_appear_in_answers_logs_dumps_or_arguments(start: Start, world: World) -> None:
    settings = {"PGSCHED_TLS_AUTHORITIES": str(TLS / "authority.pem"), "PGSCHED_LOG_LEVEL": "debug"}
    settings |= {"PGSCHED_TRACING": "true", "OTEL_EXPORTER_OTLP_ENDPOINT": world.url}
    process = start("up", "--port", "0", "--json", **settings)
    use = _Use(answer(process), world)
    with Client(use.said["url"], api_key=use.key) as client, psycopg.connect(use.said["database_url"]) as db:
        db.autocommit = True
        key = use.put(client)
        time.sleep(5)  # workers reload signing secrets within three seconds
        count = use.schedule(client)
        lines, variables = command_lines(), environments(without="PGSCHED_SECRET_KEYS")
        until(lambda: db.execute("select count(*) from pgsched.history").fetchone() == (count,))
        ids = [row[0] for row in db.execute("select id from pgsched.history")]
        answers, pages = use.answers(ids, key), use.pages(ids)
    dumped = dump_of(Path(".pgsched/postgres"))
    process.terminate()
    process.wait()
    assert process.stdout is not None
    logged = Path("stderr-0").read_text() + process.stdout.read()
    places = {"answers": answers, "log": logged, "dump": dumped, "arguments": lines, "variables": variables}
    places |= {"pages": pages, "spans": b"".join(world.spans).decode("utf-8", "replace")}
    places["the server's log"] = Path(".pgsched/postgres/postgres.log").read_text()
    assert found_in(places, use.needles(key)) == []
    _was_used(use, world, places)


def _was_used(use: _Use, world: World, places: dict[str, str]) -> None:
    """Asserts that each secret was used. Otherwise its absence would prove nothing."""
    given = {told.get("authorization") for path, told in world.seen if path == "/up"}
    assert given == {"Bearer hush-token", "Bearer hush-access"}
    paths = [path for path, _ in world.seen]
    assert (paths.count("/bank"), paths.count("/down"), paths.count("/stolen")) == (1, 4, 0)
    assert all(len(told["webhook-signature"].split()) == 2 for path, told in world.seen if path != "/token")
    assert "Bearer …" in places["answers"]
    assert "there is no secret of this name" in places["answers"]
    assert use.signing[1][-4:] in places["answers"]
    assert "shop\ttoken" in places["dump"]
    assert use.signing[1][-4:] in places["dump"]
    assert "worker.joined" in places["log"]
    assert "mallory" in places["pages"]
    assert "Bearer …" in places["pages"]
    assert {"pgsched-api", "pgsched-worker"} == set(re.findall("pgsched-(?:api|worker)", places["spans"]))
    assert "PGSCHED_TLS_AUTHORITIES" in places["variables"]
    assert stat.S_IMODE(Path(".pgsched/secret-keys").stat().st_mode) == 0o600
