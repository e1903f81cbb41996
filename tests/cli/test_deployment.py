"""The deployment in docker/: the logins of logins.sql suffice for compose.yaml, and no login is a superuser."""

import json
import os
import re
import signal
import subprocess
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any, LiteralString
from urllib.parse import urlsplit

import psycopg
import pytest
import yaml
from psycopg.conninfo import conninfo_to_dict

from pgsched.embedded import EmbeddedPostgres, bundled_bin_dir
from tests.cli.conftest import TAKING_LOCKS, Run, Start, answer
from tests.cli.test_poison_pills import until
from tests.metrics.watched import scraping

_DOCKER = Path(__file__).parents[2] / "docker"
_PASSWORDS = {
    "MIGRATOR_PASSWORD": "p@ss/w#rd",
    "SCHEDULER_PASSWORD": "it's 100% $HOME?",
    "FRONT_PASSWORD": "f",
    "SHOP_PASSWORD": "s",
}
_SESSIONS: LiteralString = (
    "select distinct usename, usesuper from pg_stat_activity join pg_user using (usename)"
    " where starts_with(application_name, 'pgsched ') order by 1"
)
_SMALL = {"fsync": "off", "shared_buffers": "32MB"}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[EmbeddedPostgres]:
    """A cluster as PostgreSQL's image creates it: with only a superuser, after the init scripts."""
    with EmbeddedPostgres(tmp_path / "postgres", settings=_SMALL) as running:
        for script in _scripts():
            words = ["--no-psqlrc", "--quiet", "--set", "ON_ERROR_STOP=1", "--file", str(script)]
            command = [str(bundled_bin_dir() / "psql"), running.url, *words]
            subprocess.run(command, check=True, env=os.environ | _PASSWORDS)
        yield running


def _scripts() -> list[Path]:
    """Returns the init scripts that compose mounts, in the order of their names in the container."""
    named = re.findall(r"- (\S+):/docker-entrypoint-initdb\.d/(\S+):ro", (_DOCKER / "compose.yaml").read_text())
    return [_DOCKER / path for path, _ in sorted(named, key=lambda pair: pair[1])]


def _address(server: EmbeddedPostgres, name: str) -> str:
    """Returns the URL of a service on this server, without the password, which is in PGPASSWORD."""
    url = server.url
    password = str(conninfo_to_dict(url)["password"])
    return url.replace(f"postgres:{password}@", f"{name}@")


def _password(name: str) -> dict[str, str]:
    return {"PGPASSWORD": _PASSWORDS[f"{name.upper()}_PASSWORD"]}


def test_compose_uses_the_logins_that_the_script_creates() -> None:
    named = re.findall(r"postgresql://(\w+)@\S+\s+PGPASSWORD: \$\{(\w+)", (_DOCKER / "compose.yaml").read_text())
    assert set(named) == {
        ("migrator", "MIGRATOR_PASSWORD"),
        ("scheduler", "SCHEDULER_PASSWORD"),
        ("front", "FRONT_PASSWORD"),
    }


def test_an_installation_runs_with_four_ordinary_logins(server: EmbeddedPostgres, start: Start, run: Run) -> None:
    migrator, scheduler, front, shop = (_address(server, name) for name in ("migrator", "scheduler", "front", "shop"))
    for _ in range(2):
        migrated = json.loads(run("migrate", "--database-url", migrator, "--json", env=_password("migrator")).stdout)
    assert migrated["missing_roles"] == []
    set_role = ["clients", "set", "shop", "--database-role", "shop", "--database-url", scheduler]
    assert run(*set_role, env=_password("scheduler")).exit_code == 0
    environment = _password("scheduler") | {"PGSCHED_DATABASE_URL": scheduler}
    answering = _password("front") | {"PGSCHED_DATABASE_URL": front}
    programs = [start("worker", "--json", **environment), start("api", "--port", "0", "--json", **answering)]
    for program in programs:
        answer(program)
    with (
        psycopg.connect(shop, password=_PASSWORDS["SHOP_PASSWORD"], autocommit=True) as service,
        psycopg.connect(server.url, autocommit=True) as db,
    ):
        service.execute("listen shop")
        service.execute("select pgsched.schedule('notify:shop', '{}', client => 'shop')")
        assert [told.channel for told in service.notifies(timeout=30, stop_after=1)] == ["shop"]
        until(db, f"select count(*) = 2 from ({_SESSIONS}) found")
        assert db.execute(_SESSIONS).fetchall() == [("front", False), ("scheduler", False)]
        check = ["worker", "--check", "--database-url", scheduler]
        assert run(*check, env=_password("scheduler")).exit_code == 0
    for program, number in zip(programs, (signal.SIGQUIT, signal.SIGTERM), strict=True):
        program.send_signal(number)
        assert program.wait(20) == 0
    gone = run(*check, env=_password("scheduler"))
    assert (gone.exit_code, "no live worker on" in gone.stderr) == (1, True)


def _services() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((_DOCKER / "compose.yaml").read_text())["services"]
    return found


def _environment(server: EmbeddedPostgres, service: dict[str, Any]) -> dict[str, str]:
    """Returns the environment of a compose service, with this server and the passwords of these tests."""
    given = {
        name: re.sub(r"\$\{(\w+):-([^}]*)\}", lambda found: _PASSWORDS.get(found[1], found[2]), text)
        for name, text in service["environment"].items()
    }
    there = conninfo_to_dict(server.url)
    url = given["PGSCHED_DATABASE_URL"].replace("@postgres/", f"@{there['host']}:{there['port']}/")
    return {**given, "PGSCHED_DATABASE_URL": url}


def test_compose_restarts_the_long_running_services() -> None:
    kept = {name for name, service in _services().items() if service.get("restart") == "unless-stopped"}
    assert kept == {"postgres", "api", "worker"}


def test_prometheus_scrapes_the_compose_services(
    server: EmbeddedPostgres, start: Start, run: Run, tmp_path: Path
) -> None:
    services = _services()
    given = {name: _environment(server, services[name]) for name in ("migrate", "api", "worker")}
    assert run(*services["migrate"]["command"], env=given["migrate"]).exit_code == 0
    made = run("admin", "keys", "create", "prometheus", "--scope", "read", "--json", env=given["worker"])
    key = json.loads(made.stdout)["token"]
    answering = answer(start(*services["api"]["command"], "--port", "0", "--json", **given["api"]))
    words = [word.replace(":9464", ":0") for word in services["worker"]["command"]]
    working = answer(start(*words, "--json", **given["worker"]))
    port = urlsplit(answering["url"]).port
    said = yaml.safe_load((_DOCKER / "prometheus" / "prometheus.yml").read_text())
    [api, workers] = said["scrape_configs"]
    [target] = api["static_configs"][0]["targets"]
    with urllib.request.urlopen(_metrics(port, key, target), timeout=30) as page:
        assert b"pgsched_database_up 1" in page.read()
    (tmp_path / "key").write_text(key)
    api["authorization"]["credentials_file"] = str(tmp_path / "key")
    api["static_configs"] = [{"targets": [f"127.0.0.1:{port}"]}]
    del workers["dns_sd_configs"]
    workers["static_configs"] = [{"targets": [f"127.0.0.1:{urlsplit(working['metrics']).port}"]}]
    said["global"] = {"scrape_interval": "1s", "scrape_timeout": "1s"}
    with scraping(tmp_path / "prometheus", said) as found:
        assert found == {"pgsched-api": "up", "pgsched-workers": "up"}


def _metrics(port: int | None, key: str, host: str) -> urllib.request.Request:
    """Returns the request for /metrics that another service sends, with the API's host name."""
    headers = {"Host": host, "Authorization": f"Bearer {key}"}
    return urllib.request.Request(f"http://127.0.0.1:{port}/metrics", headers=headers)


def test_a_client_service_login_cannot_fill_the_lock_table(server: EmbeddedPostgres) -> None:
    address = _address(server, "shop")
    with psycopg.connect(address, password=_PASSWORDS["SHOP_PASSWORD"], autocommit=True) as service:
        for taking in TAKING_LOCKS:
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                service.execute(taking)
    for database in ("postgres", "template1"):
        with pytest.raises(psycopg.OperationalError, match="permission denied"):
            psycopg.connect(address, password=_PASSWORDS["SHOP_PASSWORD"], dbname=database)
