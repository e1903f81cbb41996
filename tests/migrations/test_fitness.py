"""Databases that cannot hold pgsched are refused with a one-line error before anything is created."""

import secrets
from collections.abc import Iterator

import psycopg
import pytest
from click.testing import CliRunner

from pgsched.cli.main import cli
from pgsched.errors import InvalidSettings, Unavailable
from pgsched.store.admin.migrate import migrate
from tests.conftest import at, forget_settings
from tests.databases import Janitor

pytestmark = [pytest.mark.oldest_postgresql, pytest.mark.smoke]

_CLIENT_ENCODINGS = ["LATIN1", "WIN1252", "SQL_ASCII", "UTF8"]


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    forget_settings(monkeypatch)


@pytest.fixture(params=["SQL_ASCII", "LATIN1", "WIN1252"])
def encoded(janitor: Janitor, request: pytest.FixtureRequest) -> Iterator[tuple[str, str]]:
    """The URL of a database whose encoding is not UTF-8, and the encoding."""
    name = f"encoded_{secrets.token_hex(4)}"
    with psycopg.connect(janitor.url, autocommit=True) as admin:
        make = f"create database {name} encoding '{request.param}' locale 'C' template template0"
        admin.execute(make.encode())
        yield janitor.url_of(name), request.param
        admin.execute(f"drop database {name} with (force)".encode())


def _set(url: str, setting: str) -> None:
    with psycopg.connect(url, autocommit=True) as admin:
        admin.execute(f"alter database {admin.info.dbname} set {setting}".encode())


def _schemas(url: str) -> object:
    with psycopg.connect(url) as connection:
        return connection.execute("select count(*) from pg_namespace where nspname like 'pgsched%'").fetchone()


def test_an_encoding_other_than_utf_8_is_refused(encoded: tuple[str, str]) -> None:
    url, encoding = encoded
    done = CliRunner().invoke(cli, ["migrate"], env=at(url), catch_exceptions=False)
    assert done.exit_code == 2
    assert f"its encoding is {encoding}" in done.stderr
    assert done.stderr.count("\n") == 1
    assert _schemas(url) == (0,)


@pytest.mark.parametrize(
    "setting",
    ["session_replication_role = replica", "plpgsql.variable_conflict = use_column", "plpgsql.extra_errors = 'all'"],
)
def test_an_incompatible_setting_is_refused(empty_database_url: str, setting: str) -> None:
    _set(empty_database_url, setting)
    with pytest.raises(InvalidSettings, match=r"it must be \w+ in all sessions.*alter database … reset"):
        migrate(empty_database_url)
    assert _schemas(empty_database_url) == (0,)


def test_a_read_only_database_is_refused(database_url: str) -> None:
    _set(database_url, "default_transaction_read_only = on")
    with pytest.raises(Unavailable, match="accepts no writes"):
        migrate(database_url)


@pytest.mark.parametrize("encoding", _CLIENT_ENCODINGS)
def test_commands_work_the_same_with_any_client_encoding(
    empty_database_url: str, monkeypatch: pytest.MonkeyPatch, encoding: str
) -> None:
    monkeypatch.setenv("PGCLIENTENCODING", encoding)
    words = ["schedule", "python:settle", "--key", "Straße → 5 €", "--payload", '"日本"', "--delay", "1h"]
    for command in (["migrate"], words):
        done = CliRunner().invoke(cli, command, env=at(empty_database_url), catch_exceptions=False)
        assert done.exit_code == 0, done.stderr
    monkeypatch.delenv("PGCLIENTENCODING")
    with psycopg.connect(empty_database_url) as connection:
        assert connection.execute("select key, payload from pgsched.executions").fetchall() == [
            ("Straße → 5 €", "日本")
        ]
