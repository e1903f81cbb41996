"""Upgrades: processes of the last release on this schema, and of this release on the last schema.

The id of each test names the last release; before the first release, that is the last commit.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest

import pgsched
from pgsched.errors import SchemaMismatch
from pgsched.settings import Settings
from pgsched.store.admin.migrate import migrate
from pgsched.store.admin.schema_revisions import expected_revision, revisions
from pgsched.worker_process import checked_database
from tests.cli.conftest import Start, answer
from tests.cli.test_poison_pills import until
from tests.conftest import at
from tests.last_release import Release, last_release

_APP = """
import pathlib
import pgsched

app = pgsched.App()


@app.handler("note")
async def note():
    with pathlib.Path("delivered_by").open("a") as file:
        file.write(pgsched.__file__ + "\\n")
"""
_ONE_SHOTS = "select count(*) = {} from pgsched.history where job_id is null and status = 'succeeded'"
_RUNS = "select count(*) >= 2 from pgsched.history where job_id is not null and status = 'succeeded'"


@pytest.fixture(scope="module", params=[last_release()], ids=str)
def last(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory from which the last release can be imported."""
    found: Release = request.param
    return found.unpacked(tmp_path_factory.mktemp("last"))


class Fleet:
    """A worker and an API of one release on a database."""

    def __init__(self, start: Start, tree: Path, url: str) -> None:
        self._tree, self._note = tree, Path("delivered_by")
        self._note.unlink(missing_ok=True)
        Path("app.py").write_text(_APP)
        environment = at(url) | {"PYTHONPATH": str(tree)}
        worker = start("worker", "--app", "app:app", "--json", **environment)
        api = start("api", "--port", "0", "--json", **environment)
        said = [answer(process) for process in (worker, api)]
        assert not any("error" in one for one in said), said
        self._api: str = said[1]["url"]

    def schedules(self, **given: Any) -> None:
        """Schedules a handler call over the API, and asserts that the API is ready."""
        made = httpx.post(f"{self._api}/v1/jobs", json={"target": "python:note", **given}, timeout=30)
        assert made.status_code == 201, made.text
        assert httpx.get(f"{self._api}/readyz", timeout=30).status_code == 200

    def has_delivered(self) -> bool:
        """Returns True if only this release made deliveries."""
        return {Path(line) for line in self._note.read_text().splitlines()} == {self._tree / "pgsched" / "__init__.py"}


@pytest.fixture
def new(database_url: str) -> Iterator[psycopg.Connection[Any]]:
    """A database that this release has migrated."""
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield connection


def test_the_last_releases_processes_work_with_the_new_schema(
    start: Start, last: Path, new: psycopg.Connection[Any], database_url: str
) -> None:
    fleet = Fleet(start, last, database_url)
    fleet.schedules()
    fleet.schedules(key="tick", schedule={"every": "1s"})
    until(new, _ONE_SHOTS.format(1))
    migrate(database_url, anew=True)  # functions, views, triggers and rights, while both processes run
    fleet.schedules()
    until(new, _ONE_SHOTS.format(2))
    until(new, _RUNS)
    assert fleet.has_delivered()


def test_this_releases_processes_work_on_the_last_releases_database(
    start: Start, last: Path, empty_database_url: str
) -> None:
    """If tables have changed since the last release, the processes first name the command to run."""
    url = empty_database_url
    made = start("migrate", "--json", **at(url), PYTHONPATH=str(last))
    assert (answer(made)["missing_roles"], made.wait(30)) == ([], 0)
    with psycopg.connect(url, autocommit=True) as db:
        db.execute("select pgsched.schedule('python:note'), pgsched.schedule('python:note', every => '1 second')")
        if expected_revision() not in revisions(db):
            with pytest.raises(SchemaMismatch, match="run pgsched migrate"):
                checked_database(Settings(database_url=url))
            migrate(url)
        fleet = Fleet(start, Path(pgsched.__file__).parents[1], url)
        until(db, _ONE_SHOTS.format(1))
        migrate(url)
        fleet.schedules()
        until(db, _ONE_SHOTS.format(2))
        until(db, _RUNS)
        assert fleet.has_delivered()
