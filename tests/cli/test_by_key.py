"""Every command that takes the id of a job, execution or dead letter also takes its key."""

import json
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import click
import psycopg
import pytest

from tests.cli.conftest import Run
from tests.cli.test_documented import COMMANDS
from tests.store.ends.dead_letter_arrange import dead_letter
from tests.store.store_arrange import schedule

Db = psycopg.Connection[Any]
_DAY = ("--from", "2026-01-01T00:00:00Z", "--to", "2026-01-02T00:00:00Z")
_MORE: dict[str, tuple[str, ...]] = {
    "jobs edit": ("--every", "2h"),
    "bulk backfill": _DAY,
    "executions edit": ("--fire-at", "2030-01-01T00:00:00Z"),
    "bulk reschedule": ("--by", "1h"),
}


@pytest.fixture(autouse=True)
def _here(module_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGSCHED_DATABASE_URL", module_url)


@pytest.fixture(scope="module")
def db(module_url: str) -> Iterator[Db]:
    with psycopg.connect(module_url, autocommit=True) as connection:
        yield connection


@pytest.fixture
def key() -> str:
    """A unique key, since the tests share a database."""
    return f"nightly-{uuid4()}"


def _is_named(parameter: click.Parameter) -> bool:
    return parameter.metavar == "ID-or-KEY" and parameter.name != "after"


_ALL = {name.removeprefix("pgsched "): command for name, command in COMMANDS.items()}
NAMED = {
    path: next((None if one.name == "name" else one.opts[0] for one in command.params if _is_named(one)), None)
    for path, command in _ALL.items()
    if any(map(_is_named, command.params))
}
"""Each command with the option that names a job or execution, or None if the argument does."""


def _kind(path: str) -> str:
    if NAMED[path] == "--job":
        return "job"
    return {"executions": "execution", "dead-letters": "letter"}.get(path.split()[0], "job")


def _make(db: Db, kind: str, key: str, client: str = "default") -> str:
    match kind:
        case "job":
            return str(schedule(db, key=key, client=client, every="1 hour"))
        case "execution":
            return str(schedule(db, key=key, client=client, delay="1 hour"))
        case _:
            return str(dead_letter(db, key=key, client=client))


def _words(path: str, name: str, *more: str) -> list[str]:
    option = NAMED[path]
    named = [name] if option is None else [option, name]
    return [*path.split(), *named, *_MORE.get(path, ()), *more]


def test_every_command_that_accepts_a_key_is_tested() -> None:
    assert len(NAMED) == 24
    ids = {
        (path, one.name)
        for path, command in _ALL.items()
        for one in command.params
        if one.metavar in ("ID", "OPERATION") and one.name != "after"
    }
    without_keys = {"bulk show", "bulk stop"}
    assert {path for path, _ in ids} == without_keys


@pytest.mark.parametrize("path", NAMED)
def test_a_key_used_by_one_client_needs_no_client_flag(run: Run, db: Db, key: str, path: str) -> None:
    id = _make(db, _kind(path), key)
    found = run(*_words(path, key), "--json")
    assert found.exit_code == 0, found.output
    if json.loads(found.stdout).keys() >= {"id", "changed"}:
        assert json.loads(found.stdout)["id"] == id


@pytest.mark.parametrize("path", NAMED)
def test_a_key_used_by_two_clients_needs_the_client_flag(run: Run, db: Db, key: str, path: str) -> None:
    for client in ("one", "two"):
        _make(db, _kind(path), key, client)
    unclear = run(*_words(path, key))
    assert (unclear.exit_code, unclear.stdout) == (2, "")
    assert "several clients have" in unclear.stderr
    assert "one, two" in unclear.stderr
    found = run(*_words(path, key, "--client", "two"), "--json")
    assert found.exit_code == 0, found.output


@pytest.mark.parametrize("path", NAMED)
def test_an_unknown_key_is_an_error(run: Run, db: Db, key: str, path: str) -> None:
    _make(db, _kind(path), key, "one")
    unknown = str(uuid4())
    for name, more in (("none", ()), (key, ("--client", "three")), (unknown, ())):
        found = run(*_words(path, name, *more))
        if name != unknown or NAMED[path] is None:  # listings for an unknown id are empty
            assert (found.exit_code, found.stdout) == (1, ""), found.output
            who = "client 'three' has" if more else "there is"
            assert found.stderr.startswith(f"error: {who} no "), found.stderr
            assert name in found.stderr


@pytest.mark.parametrize("path", NAMED)
def test_the_key_prefix_marks_a_key_that_looks_like_an_id(run: Run, db: Db, path: str) -> None:
    key = str(uuid4())
    _make(db, _kind(path), key)
    found = run(*_words(path, f"key:{key}"), "--json")
    assert found.exit_code == 0, found.output
    if NAMED[path] is None and not path.startswith(("dead-letters replay", "dead-letters discard")):
        again = run(*path.split(), "--key", key, *_MORE.get(path, ()), "--json")
        assert "there is no" not in again.output, again.output
        assert "has no" not in again.output, again.output


def test_the_error_for_a_key_of_another_kind_names_that_kind(run: Run, db: Db) -> None:
    job, execution = _make(db, "job", "nightly"), _make(db, "execution", "once")
    assert f"it is the key of the job {job}" in run("executions", "show", "nightly").stderr
    assert f"it is the key of the execution {execution}" in run("jobs", "pause", "once").stderr


def test_a_key_selects_the_live_row_or_else_the_newest_ended_row(run: Run, db: Db) -> None:
    dead_letter(db, key="k")
    newest = dead_letter(db, key="k")
    assert json.loads(run("executions", "show", "k", "--json").stdout)["id"] == str(newest)
    waiting = _make(db, "execution", "k")
    assert json.loads(run("executions", "show", "k", "--json").stdout)["id"] == waiting
    assert json.loads(run("dead-letters", "show", "k", "--json").stdout)["id"] == str(newest)
    gone = _make(db, "job", "j")
    run("jobs", "cancel", gone)
    assert json.loads(run("jobs", "show", "j", "--json").stdout)["id"] == gone
    there = _make(db, "job", "j")
    assert json.loads(run("jobs", "show", "j", "--json").stdout)["id"] == there


def test_naming_a_job_twice_or_not_at_all_is_refused(run: Run) -> None:
    twice = run("jobs", "show", "a", "--key", "b")
    assert (twice.exit_code, twice.stderr) == (2, "error: the job is given twice: give either the argument or --key\n")
    none = run("executions", "why")
    assert (none.exit_code, none.stderr) == (2, "error: no execution is given: give its id or its key\n")
