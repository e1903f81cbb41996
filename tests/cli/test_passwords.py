"""Passwords: refused on the command line, and never repeated in answers, errors or log lines."""

import json
import logging
import sys

import pytest
from click.testing import Result

from pgsched.cli.log_setup import Printable
from pgsched.cli.supervised import program
from pgsched.delivery.credentials import Filled
from pgsched.delivery.proxy import parse_proxy
from pgsched.delivery.tokens import _Token
from pgsched.delivery.url import parse_url
from pgsched.domain.execution_options import Options
from pgsched.settings import Settings
from pgsched.worker.vault import _Opened
from tests.cli.conftest import Run
from tests.cli.test_documented import COMMANDS

URL = "postgresql://shop:hush@db.example/shop"
_WITH_DATABASE = [name for name, one in COMMANDS.items() if any(part.name == "database_url" for part in one.params)]


@pytest.mark.parametrize("command", _WITH_DATABASE)
def test_every_command_refuses_a_password_in_the_database_url_flag(run: Run, command: str) -> None:
    result = run(*command.split()[1:], "--database-url", URL)
    assert result.exit_code == 2
    assert "set PGSCHED_DATABASE_URL" in result.stderr
    assert "PGPASSFILE" in result.stderr
    assert "hush" not in result.output


@pytest.mark.parametrize(
    ("flag", "given"),
    [
        ("--database-url", "postgresql://shop@db.example/shop?sslmode=require&password=hush"),
        ("--database-url", "postgresql://shop@db.example/shop?sslkey=a&sslpassword=hush"),
        ("--proxy", "http://us:hush@proxy.example:3128"),
        ("--sql-login", "user={role} password='hush hush'"),
        ("--kafka-config", '{"sasl.password": "hush"}'),
        ("--kafka-config", '{"ssl.key.pem" : "-----hush"}'),
    ],
)
def test_every_flag_that_could_contain_a_password_refuses_passwords(run: Run, flag: str, given: str) -> None:
    result = run("worker", flag, given, "--json")
    said = json.loads(result.stdout)["error"]
    assert (result.exit_code, said["code"]) == (2, "pgsched.invalid_settings")
    assert f"{flag} contains a password" in said["message"]
    assert f"set PGSCHED_{flag.removeprefix('--').replace('-', '_').upper()}" in said["message"]
    assert "hush" not in result.output


def test_a_signing_secret_is_read_from_standard_input_only(run: Run) -> None:
    result = run("clients", "rotate-signing-secret", "shop", "--secret", "whsec_hush")
    assert (result.exit_code, "on standard input" in " ".join(result.stderr.split())) == (2, True)
    assert "hush" not in result.output


@pytest.mark.parametrize(
    ("variable", "given"),
    [
        ("DATABASE_URL", "postgresql://shop:hush@[::1/shop"),
        ("DATABASE_URL", "postgresql://shop:hush@[::1]x/shop"),
        ("DATABASE_URL", "postgresql://shop:hu sh@db.example/shop"),
        ("DATABASE_URL", "postgresql://shop:hu%00sh@db.example/shop"),
        ("DATABASE_URL", "postgresql://shop:h@ush@db.example/shop"),
        ("DATABASE_URL", "mysql://shop:hush@db.example/shop"),
        ("KAFKA_CONFIG", '{"sasl.password": "hush"'),
        ("PROXY", "socks5://us:hush@proxy.example"),
        ("PROXY", "http://us:hush@proxy.example:none"),
        ("SQL_LOGIN", "user=shop passwort=hu sh"),
    ],
)
def test_settings_errors_do_not_repeat_a_password(run: Run, database_url: str, variable: str, given: str) -> None:
    _says_no_password(run("worker", env={"PGSCHED_DATABASE_URL": database_url, f"PGSCHED_{variable}": given}))


def test_an_unreachable_database_is_reported_without_the_password(run: Run) -> None:
    _says_no_password(run("status", env={"PGSCHED_DATABASE_URL": "postgresql://shop:hush@127.0.0.1:1/shop"}))


def _says_no_password(result: Result) -> None:
    assert result.exit_code in {1, 2}
    assert result.stderr.startswith("error: ")
    assert [part for part in ("hush", "hu sh", "hu%00sh", "ush") if part in result.output] == []


def test_the_repr_of_settings_hides_passwords() -> None:
    kafka, login = '{"sasl.password": "hush"}', "user=us password=hush"
    shown = Settings(database_url=URL, proxy="http://us:hush@proxy", kafka_config=kafka, sql_login=login)
    assert "hush" not in repr(shown)


def test_the_repr_of_a_value_with_a_secret_hides_the_secret() -> None:
    filled = Filled(Options(headers=(("x", "hush"),)), parse_url("https://a"), ("hush",))
    assert "hush" not in f"{filled} {_Token('hush', 0, 0)} {_Opened('hush', '', 0)} {parse_proxy('http://a:hush@b')}"
    assert "aHVzaA" not in repr(parse_proxy("http://a:hush@b"))
    assert "Basic" not in repr(parse_proxy("http://a:hush@b"))


def test_child_processes_get_the_password_only_in_the_environment() -> None:
    started = program("alone", ["worker", "--alone", "7"], Settings(database_url=URL))
    assert "hush" not in " ".join(started.command)
    assert started.environment["PGSCHED_DATABASE_URL"] == URL


def test_library_log_lines_contain_no_password() -> None:
    try:
        raise ValueError(f"cannot connect to {URL}")
    except ValueError:
        record = logging.LogRecord("x", logging.ERROR, __file__, 1, 'URI "%s"', (URL,), sys.exc_info())
    assert "hush" not in Printable().format(record)
