"""The logins of `up`: no login is a superuser, and SQL targets run as the client's role. Also, PostgreSQL restarts."""

import json
import os
import shlex
import signal
import subprocess
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from pgsched.cli.own_logins import instead_of_superuser
from pgsched.cli.reply import Reply
from pgsched.store.admin.up_logins import as_login, make_logins
from tests.cli.conftest import TAKING_LOCKS, Run, Start, answer, children
from tests.docs.fences import blocks

Db = psycopg.Connection[Any]
_LOGINS = """
select array_agg(distinct usename::text) from pg_stat_activity
 where application_name like 'pgsched%' and datname = current_database() and usesysid is not null
"""


def _until(condition: Callable[[], bool], *, within: float = 30.0) -> None:
    end = time.monotonic() + within
    while not condition():
        assert time.monotonic() < end, "the condition was not met in time"
        time.sleep(0.02)


def _superuser(directory: Path) -> Db:
    """Connects as the owner of an embedded cluster, with the password stored beside it."""
    password, port = ((directory / name).read_text().strip() for name in ("password", "port"))
    address = {"host": "127.0.0.1", "port": port, "user": "postgres", "password": password, "dbname": "pgsched"}
    return psycopg.connect(make_conninfo(**address), autocommit=True)


def _succeeded(db: Db) -> int:
    found = db.execute("select count(*) from pgsched.history where status = 'succeeded'").fetchone()
    return int(found[0]) if found else 0


@pytest.mark.usefixtures("made_before")
def test_pgsched_up_prints_a_database_url_that_any_driver_accepts(start: Start) -> None:
    process = start("up", "--port", "0")
    assert process.stdout is not None
    told = next(line for line in iter(process.stdout.readline, "") if line.startswith("Its database is "))
    url = told.removeprefix("Its database is ").strip()
    parts = urlsplit(url)
    assert (parts.username, parts.hostname, parts.path, parts.query) == ("pgsched_up", "127.0.0.1", "/pgsched", "")
    assert parts.password is not None
    assert parts.password not in str(children(process.pid))
    with psycopg.connect(f"{url}?passfile=/dev/null") as user:
        user.execute("select pgsched.schedule('https://shop.example/settle')")
    process.terminate()
    assert process.wait(30) == 0


@pytest.mark.usefixtures("made_before")
def test_pgsched_up_and_sql_targets_work_without_superuser_logins(start: Start, run: Run) -> None:
    process = start("up", "--port", "0", "--json")
    said = answer(process)
    with _superuser(Path(".pgsched/postgres")) as db, psycopg.connect(said["database_url"], autocommit=True) as user:
        assert said["sql_role"] == "pgsched_default"
        for way in ("curl", "psql", "python"):
            subprocess.run(shlex.split(said["try"][way]), check=True, capture_output=True)
        [making] = [block for block in blocks("sql") if "sql:public.greet" in block.text]
        user.execute(making.text.encode())
        _until(lambda: user.execute("select name from greetings").fetchall() == [("Ada",)])
        answered = user.execute("select result from pgsched.status where key = 'greet-ada'").fetchone()
        assert answered == ({"greeted": "Ada", "by": "pgsched_default"},)
        assert run("executions", "list", "--json").exit_code == 0
        assert db.execute(_LOGINS).fetchone() == (["pgsched_api_up", "pgsched_default", "pgsched_up"],)
        roles = db.execute("select rolname from pg_roles where rolsuper and rolname like 'pgsched%'").fetchall()
        assert roles == []
    process.terminate()
    assert process.wait(30) == 0


@pytest.mark.usefixtures("made_before")
def test_only_pgscheds_own_login_can_fill_the_lock_table(start: Start) -> None:
    process = start("up", "--port", "0", "--json")
    said = answer(process)
    with _superuser(Path(".pgsched/postgres")) as db, psycopg.connect(said["database_url"], autocommit=True) as ours:
        db.execute("create role outsider login")
        for role in ("outsider", "pgsched_default"):
            db.execute(f"set session authorization {role}".encode())
            for taking in TAKING_LOCKS:
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    db.execute(taking)
            db.execute("reset session authorization")
        for allowed in TAKING_LOCKS:
            with ours.transaction(force_rollback=True):
                ours.execute(allowed)
        reaches = (
            "select array_agg(datname::text) from pg_database"
            " where datallowconn and has_database_privilege('outsider', oid, 'connect')"
        )
        assert db.execute(reaches).fetchone() == (["pgsched"],)
    process.terminate()
    assert process.wait(30) == 0


@pytest.mark.usefixtures("made_before")
def test_pgsched_up_shows_no_password_except_in_the_printed_url(start: Start) -> None:
    process = start("up", "--port", "0", "--json")
    said = answer(process)
    directory = Path(".pgsched/postgres")
    secrets = [line.split(":")[4] for line in (directory / "logins").read_text().splitlines()]
    secrets.append((directory / "password").read_text().strip())
    shown = "".join(
        f"{words} {Path(f'/proc/{child}/environ').read_text()}" for child, words in children(process.pid).items()
    )
    assert [secret for secret in secrets if secret in shown] == []
    assert [secret for secret in secrets if secret in json.dumps(said)] == [urlsplit(said["database_url"]).password]
    assert (directory / "logins").stat().st_mode & 0o777 == 0o600
    process.terminate()
    assert process.wait(30) == 0


def _commands(process: int) -> set[int]:
    """Returns the child processes of a command that run pgsched."""
    return {pid for pid, words in children(process).items() if "pgsched.cli.main" in words}


@pytest.mark.usefixtures("made_before")
def test_pgsched_up_restarts_a_killed_postgresql_and_executions_continue(start: Start, tmp_path: Path) -> None:
    process = start("up", "--port", "0", "--json")
    said = answer(process)
    directory = Path(".pgsched/postgres")
    before = _commands(process.pid)
    for times in (1, 2):
        server = int((directory / "cluster" / "postmaster.pid").read_text().splitlines()[0])
        os.kill(server, signal.SIGKILL)
        _until(lambda times=times: (tmp_path / "stderr-0").read_text().count("PostgreSQL is running again") == times)  # type: ignore[misc]
        with psycopg.connect(said["database_url"], autocommit=True) as db:
            subprocess.run(shlex.split(said["try"]["psql"]), check=True, capture_output=True)
            db.execute("update pgsched.executions set fire_at = now()")
            _until(lambda db=db, times=times: _succeeded(db) == times)  # type: ignore[misc]
    with urllib.request.urlopen(f"{said['url']}/readyz", timeout=10) as response:
        assert json.load(response)["status"] == "ready"
    assert (tmp_path / "stderr-0").read_text().count("PostgreSQL ended unexpectedly (SIGKILL)") == 2
    assert len(before) == 2
    assert _commands(process.pid) == before  # API and worker were not restarted
    process.terminate()
    assert process.wait(30) == 0


def test_pgsched_up_given_a_superusers_url_runs_as_its_own_logins(start: Start, database_url: str, db: Db) -> None:
    process = start("up", "--port", "0", "--allow-private-targets", "--json", PGSCHED_DATABASE_URL=database_url)
    said = answer(process)
    found = db.execute(_LOGINS).fetchone()
    assert found is not None
    assert found[0] == [str(conninfo_to_dict(said["database_url"])["user"])]
    assert found[0][0].startswith("pgsched_up")
    db.execute("create function greet(payload jsonb) returns text language sql as 'select session_user::text'")
    db.execute("select pgsched.schedule('sql:public.greet')")
    _until(lambda: _succeeded(db) == 1)
    assert db.execute("select result #>> '{}' from pgsched.history").fetchone() == (said["sql_role"],)
    process.terminate()
    assert process.wait(20) == 0


def test_pgsched_up_given_an_ordinary_roles_url_creates_no_logins(database_url: str, db: Db, tmp_path: Path) -> None:
    db.execute("create role up_ordinary login password 'ordinary'")
    try:
        address = conninfo_to_dict(database_url)
        url = database_url.replace(f"//{address['user']}:{address['password']}@", "//up_ordinary:ordinary@")
        assert instead_of_superuser(url, tmp_path / "logins", Reply(as_json=False)) is None
        assert not (tmp_path / "logins").exists()
    finally:
        db.execute("drop role up_ordinary")


def test_the_warning_about_missing_logins_shows_how_to_create_logins(
    database_url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    assert instead_of_superuser(database_url, tmp_path / "file" / "logins", Reply(as_json=False)) is None
    assert "create role … login in role pgsched_worker" in capsys.readouterr().err


def test_logins_are_created_once_per_data_directory(database_url: str, tmp_path: Path) -> None:
    first = make_logins(database_url, tmp_path / "logins", is_ours=False)
    again = make_logins(database_url, tmp_path / "logins", is_ours=False)
    other = make_logins(database_url, tmp_path / "others", is_ours=False)
    assert first == again
    assert other.url.partition("?")[0] != first.url.partition("?")[0]
    assert other.client_role == first.client_role  # client default already has a role
    for logins in (first, other):
        with psycopg.connect(logins.url) as connection:
            assert connection.execute("select pg_has_role('pgsched_worker', 'MEMBER')").fetchone() == (True,)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("postgresql://ann:s@db.example:5432/shop", "postgresql://w@db.example:5432/shop?passfile=/d%20d/logins"),
        ("postgresql:///shop?host=/run/pg&user=ann", "postgresql://w@/shop?host=/run/pg&passfile=/d%20d/logins"),
        ("postgresql://db.example?options=-c%20geqo=off&passfile=/x",
         "postgresql://w@db.example?options=-c%20geqo=off&passfile=/d%20d/logins"),
    ],
)  # fmt: skip
def test_changing_the_login_in_a_url_preserves_everything_else(url: str, expected: str) -> None:
    assert as_login(url, "w", Path("/d d/logins")) == expected
