"""Migrating a database to this release's schema: concurrently, forward only, and without the right to create roles."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest
from alembic import command
from alembic.script import ScriptDirectory
from click.testing import CliRunner

from pgsched.cli.main import cli
from pgsched.embedded import EmbeddedPostgres, bundled_bin_dir
from pgsched.errors import SchemaMismatch, Unavailable
from pgsched.store.admin.interface_replacement import ROLES, is_current
from pgsched.store.admin.migrate import alembic_config, migrate
from pgsched.store.admin.schema_revisions import check_schema, expected_revision, known_revisions, serves_from
from pgsched.store.admin.upgrade_steps import roles_sql
from pgsched.store.core.lock_capacity import OPEN
from tests.conftest import at
from tests.installed import find_bin_dir

pytestmark = [pytest.mark.oldest_postgresql, pytest.mark.smoke]

MIGRATE = "import sys; from pgsched.store.admin.migrate import migrate; print(migrate(sys.argv[1]))"


def test_several_processes_can_migrate_simultaneously(empty_database_url: str) -> None:
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", MIGRATE, empty_database_url],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for _ in range(4)
    ]
    answers = [process.communicate(timeout=240)[0] for process in processes]
    assert [process.returncode for process in processes] == [0] * 4, answers
    with psycopg.connect(empty_database_url) as connection:
        check_schema(connection)
        assert connection.execute("select client_id from pgsched.clients").fetchall() == [("default",)]


def test_known_revisions_match_the_revisions_that_alembic_finds() -> None:
    found = ScriptDirectory.from_config(alembic_config())
    assert expected_revision() == found.get_current_head()
    assert known_revisions() == {script.revision for script in found.walk_revisions()}


def test_the_worker_and_the_api_start_without_importing_alembic() -> None:
    """Alembic takes longer to import than everything a worker needs."""
    program = (
        "import sys, pgsched.cli.server_commands, pgsched.worker_process;"
        "print([*{'alembic', 'sqlalchemy'} & {*sys.modules}]);"
        "import pgsched.api.server, pgsched.api.app; print('alembic' in sys.modules)"
    )
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert answer.splitlines() == ["[]", "False"]


def test_a_migrated_database_is_at_the_expected_revision(database_url: str) -> None:
    with psycopg.connect(database_url) as connection:
        check_schema(connection)


def test_a_downgrade_is_refused_and_changes_nothing(database_url: str) -> None:
    with pytest.raises(NotImplementedError, match=r"forward only.*schedules"):
        command.downgrade(alembic_config(database_url), "base")
    with psycopg.connect(database_url) as connection:
        check_schema(connection)
        assert connection.execute("select count(*) from pgsched.executions").fetchall() == [(0,)]


def test_an_unmigrated_database_is_reported_with_advice_to_migrate(empty_database_url: str) -> None:
    with psycopg.connect(empty_database_url) as connection, pytest.raises(SchemaMismatch, match="run pgsched migrate"):
        check_schema(connection)


def test_an_older_schema_is_reported_with_both_revisions(database_url: str) -> None:
    with psycopg.connect(database_url) as connection:
        connection.execute("update pgsched.schema_version set version_num = 'pgsched_0000'")
        with pytest.raises(SchemaMismatch, match=rf"pgsched_0000.*{expected_revision()}.*run pgsched migrate"):
            check_schema(connection)


def test_migrating_an_unreachable_database_raises_unavailable() -> None:
    with pytest.raises(Unavailable, match="cannot reach the database"):
        migrate("postgresql://postgres@127.0.0.1:1/postgres")


@pytest.fixture(scope="module")
def bare_server(server: EmbeddedPostgres, tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedPostgres]:
    """A server without pgsched's roles."""
    with psycopg.connect(server.url) as connection:
        major = connection.info.server_version // 10000
    bin_dir = bundled_bin_dir() if major == 18 else find_bin_dir(major)
    directory: Path = tmp_path_factory.mktemp("bare") / "postgres"
    with EmbeddedPostgres(directory, bin_dir=bin_dir, settings={"fsync": "off", "shared_buffers": "32MB"}) as running:
        yield running


def test_migrating_without_createrole_reports_the_missing_roles(bare_server: EmbeddedPostgres) -> None:
    with psycopg.connect(bare_server.url, autocommit=True) as superuser:
        superuser.execute("create role plain login password 'plain'")
        superuser.execute("create database shop owner plain")
        parts = urlsplit(bare_server.url)
        url = parts._replace(netloc=f"plain:plain@{parts.hostname}:{parts.port}", path="/shop").geturl()
        told = CliRunner().invoke(cli, ["migrate"], env=at(url), catch_exceptions=False)
        assert (told.exit_code, "create role" in told.stdout) == (1, True)
        assert told.stderr == (
            f"{OPEN}\nthe schema was migrated, but these roles could not be created: {', '.join(ROLES)}; create them, "
            "then run pgsched migrate again\n"
        )
        assert migrate(url) == list(ROLES)
        with psycopg.connect(url) as plain:
            check_schema(plain)
            plain.execute("select pgsched.schedule('python:settle', key => 'k')")
        superuser.execute(roles_sql().encode())
        assert migrate(url) == []
        with psycopg.connect(url) as plain:
            granted = plain.execute(
                "select has_function_privilege('pgsched_client', 'pgsched.trigger(uuid, text)', 'execute'),"
                " has_table_privilege('pgsched_reader', 'pgsched.status', 'select'),"
                " (select count(*) from pgsched.status)"
            )
            assert granted.fetchall() == [(True, True, 1)]


LOCKED = """
select count(*) from pg_locks l join pg_class c on c.oid = l.relation join pg_namespace n on n.oid = c.relnamespace
 where n.nspname in ('pgsched', 'pgsched_internal') and l.mode = 'AccessExclusiveLock'"""


def test_migrating_a_current_database_waits_for_no_lock(database_url: str) -> None:
    with psycopg.connect(database_url) as reader:
        reader.execute("select count(*) from pgsched.status")
        reader.execute("lock table pgsched.executions, pgsched.history in access exclusive mode")
        assert migrate(database_url) == []


def test_replacing_the_interface_gives_up_if_a_reader_holds_a_lock(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pgsched.store.admin.interface_replacement._AT_THE_MOST", 1.0)
    with psycopg.connect(database_url, autocommit=True) as connection, psycopg.connect(database_url) as reader:
        connection.execute("update pgsched_internal.facts set value = 'of another release' where name = 'interface'")
        reader.execute("select count(*) from pgsched.history")
        with pytest.raises(Unavailable, match="history"):
            migrate(database_url)
        reader.commit()
        assert migrate(database_url) == []
        assert connection.execute(LOCKED).fetchall() == [(0,)]


@pytest.mark.parametrize("anew", [False, True])
def test_an_older_release_never_replaces_a_newer_interface(database_url: str, anew: bool) -> None:
    with psycopg.connect(database_url, autocommit=True) as connection:
        for name, found in (("interface", "of another release"), ("release", "99.1.0rc1")):
            connection.execute("update pgsched_internal.facts set value = %s where name = %s", [found, name])
        with pytest.raises(
            SchemaMismatch,
            match=r"installed by release 99\.1\.0rc1, which is newer.*migrate with "
            "that",
        ):
            migrate(database_url, anew=anew)
        with pytest.raises(SchemaMismatch, match="newer"):
            command.upgrade(alembic_config(database_url), "heads")
        value = "select value from pgsched_internal.facts where name = 'interface'"
        assert connection.execute(value).fetchone() == ("of another release",)
        connection.execute("update pgsched_internal.facts set value = '0.0.9' where name = 'release'")
        assert migrate(database_url) == []
        assert is_current(connection)


def test_a_role_missing_from_the_recorded_roles_makes_migrating_necessary(database_url: str) -> None:
    with psycopg.connect(database_url) as connection:
        assert is_current(connection)
        connection.execute("update pgsched_internal.facts set value = replace(value, 'pgsched_reader', '')")
        assert not is_current(connection)


def test_an_outsiders_advisory_lock_does_not_block_a_migration(empty_database_url: str) -> None:
    with psycopg.connect(empty_database_url) as outsider:
        outsider.execute("select pg_advisory_xact_lock(hashtext('pgsched migrate'))")
        assert migrate(empty_database_url) == []


_LATER = "update pgsched.schema_version set version_num = %s"
_SERVES = "update pgsched_internal.facts set value = %s where name = 'serves from'"


@pytest.mark.parametrize("revision", ["pgsched_9999", "a_later_one"])
def test_an_incompatible_newer_schema_is_refused_with_upgrade_advice(database_url: str, revision: str) -> None:
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute(_LATER, [revision])
        connection.execute(_SERVES, ["pgsched_9998"])
        with pytest.raises(SchemaMismatch, match=f"{revision}.*newer release.*install"):
            check_schema(connection)
        with pytest.raises(SchemaMismatch, match="install"):
            migrate(database_url)


def test_processes_run_on_a_compatible_newer_schema(database_url: str) -> None:
    with psycopg.connect(database_url, autocommit=True) as connection:
        assert connection.execute("select value from pgsched_internal.facts where name = 'serves from'").fetchone() == (
            serves_from(),
        )
        connection.execute(_LATER, ["pgsched_9999"])
        check_schema(connection)
        with pytest.raises(SchemaMismatch, match="newer release"):
            migrate(database_url)


def test_each_schema_version_still_serves_the_previous_version() -> None:
    """A version may remove only what the previous version's releases do not use."""
    versions = {script.revision: script for script in ScriptDirectory.from_config(alembic_config()).walk_revisions()}
    for revision, script in versions.items():
        assert script.module.serves_from <= (script.down_revision or revision)
