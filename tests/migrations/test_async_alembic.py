"""An environment made from Alembic's generic or async template runs pgsched's migrations."""

import os
import re
from pathlib import Path

import psycopg
import pytest
from alembic import command
from alembic.config import Config

from pgsched.store.admin import interface_replacement
from pgsched.store.admin.migrate import migrate
from pgsched.store.admin.schema_revisions import check_schema, migrations_dir
from pgsched.store.admin.upgrade_steps import sqlalchemy_url
from tests.migrations.schema_catalog import dump
from tests.migrations.test_schema import GOLDEN, HEADER


def environment(directory: Path, template: str, url: str) -> Config:
    """Creates the template's environment, with the two calls around each ``run_migrations()`` and the database URL."""
    config = Config(str(directory / "alembic.ini"))
    command.init(config, str(directory / "scripts"), template=template)
    script = directory / "scripts" / "env.py"
    calls = r"\1before_upgrade()\n\1context.run_migrations()\n\1after_upgrade()"
    text = re.sub(r"( +)context\.run_migrations\(\)", calls, script.read_text())
    # fileConfig would disable the loggers of other tests.
    text = text.replace("fileConfig(config.config_file_name)", "pass")
    script.write_text(f"from pgsched.store.admin.upgrade_steps import after_upgrade, before_upgrade\n{text}")
    found = Config(str(directory / "alembic.ini"))
    found.set_main_option("path_separator", "os")
    places = [str(directory / "scripts" / "versions"), str(migrations_dir() / "versions")]
    found.set_main_option("version_locations", os.pathsep.join(places))
    found.set_main_option("sqlalchemy.url", url.replace("%", "%%"))
    return found


@pytest.mark.parametrize("template", ["async", "generic"])
def test_upgrading_works_in_environments_from_alembics_templates(
    template: str, tmp_path: Path, empty_database_url: str
) -> None:
    config = environment(tmp_path, template, sqlalchemy_url(empty_database_url))
    command.upgrade(config, "heads")
    command.upgrade(config, "heads")
    with psycopg.connect(empty_database_url) as connection:
        check_schema(connection)
        assert interface_replacement.is_current(connection)
        connection.execute("drop table public.alembic_version")
    migrate(empty_database_url)
    with psycopg.connect(empty_database_url) as connection:
        found = HEADER + dump(connection)
    assert found.splitlines() == GOLDEN.read_text(encoding="utf-8").splitlines()


def test_an_async_upgrade_waits_until_a_locked_table_is_unlocked(
    tmp_path: Path, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = environment(tmp_path, "async", sqlalchemy_url(database_url))
    command.stamp(config, "pgsched@head")
    tries: list[bool] = []
    with psycopg.connect(database_url) as blocker:
        interface_replacement.forget(blocker)
        blocker.commit()
        blocker.execute("lock table pgsched.jobs")

        def pause() -> None:
            blocker.rollback()
            tries.append(True)

        monkeypatch.setattr(interface_replacement, "pause", pause)
        command.upgrade(config, "heads")
        assert len(tries) == 1
        assert interface_replacement.is_current(blocker)


def test_an_unsupported_driver_is_refused_with_advice(tmp_path: Path, empty_database_url: str) -> None:
    url = sqlalchemy_url(empty_database_url).replace("+psycopg:", "+asyncpg:")
    config = environment(tmp_path, "async", url)
    with pytest.raises(TypeError, match=r"use a postgresql\+psycopg:// address \(got one for asyncpg\)"):
        command.upgrade(config, "heads")
