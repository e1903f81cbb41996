"""`up` with a database password that contains characters with a special meaning in URLs."""

import json
import shlex
import signal
import subprocess
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from secrets import token_hex
from typing import Any

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from pgsched.embedded import EmbeddedPostgres
from tests.cli.conftest import Run, Start, answer, children, command_lines
from tests.conftest import at
from tests.replication.pair import until

PASSWORD = "p@ss/w#rd"
ORDINARY = "nosuperuser in role pgsched_worker, pgsched_api, pgsched_owner"
_ENCODED = "p%40ss%2Fw%23rd"
_DONE = "select count(*) from pgsched.history where status = 'succeeded'"
Db = psycopg.Connection[Any]


@pytest.fixture(params=[ORDINARY, "superuser"])
def login(request: pytest.FixtureRequest, server: EmbeddedPostgres, db: Db) -> Iterator[str]:
    """A login that is an ordinary role or a superuser."""
    name = f"up_{token_hex(4)}"
    create = sql.SQL("create role {} login password {} ").format(sql.Identifier(name), sql.Literal(PASSWORD))
    db.execute(create + sql.SQL(request.param))
    db.execute(f"grant create on database {db.info.dbname} to {name}".encode())
    yield name
    with psycopg.connect(server.url, autocommit=True) as anywhere:
        anywhere.execute("select pg_terminate_backend(pid) from pg_stat_activity where usename = %s", [name])
    db.execute(f"drop owned by {name}; drop role {name}".encode())


def _address(database_url: str, login: str) -> str:
    given = conninfo_to_dict(database_url)
    return f"postgresql://{login}@{given['host']}:{given['port']}/{given['dbname']}"


def _environment(url: str, way: str) -> dict[str, str]:
    """Returns settings with the password percent-encoded in the URL, or in PGPASSWORD."""
    if way == "PGPASSWORD":
        return {"PGSCHED_DATABASE_URL": url, "PGPASSWORD": PASSWORD}
    return {"PGSCHED_DATABASE_URL": url.replace("@", f":{_ENCODED}@")}


@pytest.mark.parametrize(
    ("login", "way"),
    [(ORDINARY, "address"), ("superuser", "PGPASSWORD")],
    indirect=["login"],
    ids=["ordinary", "super"],
)
def test_pgsched_up_never_shows_the_database_password(
    start: Start, database_url: str, db: Db, login: str, way: str
) -> None:
    environment = _environment(_address(database_url, login), way)
    words = ["--processes", "2", "--allow-private-targets", "--log-level", "debug", "--json"]
    process = start("up", "--port", "0", *words, **environment)
    said = answer(process)
    assert len(children(process.pid)) == 3
    seen = command_lines()
    with urllib.request.urlopen(f"{said['url']}/readyz", timeout=10) as response:
        assert json.load(response)["status"] == "ready"
    subprocess.run(shlex.split(said["try"]["curl"]), check=True, capture_output=True)
    db.execute("update pgsched.executions set fire_at = now()")
    until(lambda: db.execute(_DONE).fetchone() == (1,))
    process.send_signal(signal.SIGQUIT)
    assert process.wait(30) == 0
    told = {"said": json.dumps(said), "log": Path("stderr-0").read_text(), "arguments": seen}
    assert [place for place, text in told.items() if PASSWORD in text or _ENCODED in text] == []


@pytest.mark.parametrize("way", ["address", "PGPASSWORD"])
def test_commands_log_in_with_a_password_from_the_environment(
    run: Run, database_url: str, login: str, way: str
) -> None:
    environment = _environment(_address(database_url, login), way)
    for command in (["migrate"], ["status"]):
        assert run(*command, env=environment).exit_code == 0


def test_the_error_for_an_unencoded_password_shows_how_to_encode_it(run: Run, database_url: str, login: str) -> None:
    url = _address(database_url, login).replace("@", f":{PASSWORD}@")
    for command in (["up", "--port", "0"], ["migrate"], ["worker"], ["api", "--port", "0"]):
        refused = run(*command, env=at(url))
        assert refused.exit_code == 2
        assert "write @ as %40" in refused.stderr
