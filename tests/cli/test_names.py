"""Names with special characters on the command line."""

import json

import pytest

from tests.cli.conftest import Run
from tests.conftest import Connection
from tests.names import NAMES
from tests.store.store_arrange import call, column, schedule


@pytest.fixture(autouse=True)
def _here(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGSCHED_DATABASE_URL", database_url)


def test_a_client_with_any_name_can_be_set_held_shown_and_dropped(run: Run, db: Connection) -> None:
    for name in NAMES:
        assert run("clients", "set", "--weight", "5", "--", name).exit_code == 0, name
        assert run("clients", "hold", "--", name).exit_code == 0
        assert column(db, b"select client_id from pgsched.clients where state = 'held'") == [name]
        assert json.loads(run("clients", "show", "--json", "--", name).output)["client"] == name
        assert run("clients", "release", "--", name).exit_code == 0
        assert run("clients", "drop", "--", name).exit_code == 0
    assert column(db, b"select client_id from pgsched.clients") == ["default"]


def test_executions_can_be_listed_by_any_client_name_and_key(run: Run, db: Connection) -> None:
    for name in NAMES:
        id = schedule(db, client=name, key=name, target="python:note", delay="1 hour")
        listed = run("executions", "list", f"--client={name}", f"--key={name}", "--json")
        assert [one["id"] for one in json.loads(listed.output)["items"]] == [str(id)], name


def test_a_limit_can_be_set_and_dropped_for_any_ordering_key(run: Run, db: Connection) -> None:
    for name in NAMES:
        limited = f"payments/{name}"
        assert run("limits", "set", "key", limited, "--rate", "5").exit_code == 0, name
        [row] = json.loads(run("limits", "list", "--json").output)["items"]
        assert (row["kind"], row["name"]) == ("key", limited)
        assert run("limits", "drop", "key", limited).exit_code == 0


def test_an_ordering_key_with_any_name_can_be_unblocked(run: Run, db: Connection) -> None:
    for name in NAMES:
        db.execute("insert into pgsched.blocked_keys values (%s, %s, 0, pgsched_internal.new_id(), 'no')", [name, name])
        assert run("executions", "unblock", "--", name, name).output == "unblocked\n"
    call(db, "resume", kind="ordering_key", client="default", name="none")
