"""A project with its own Alembic environment includes pgsched's migrations."""

import os
from pathlib import Path

import psycopg
import pytest
from alembic import command
from alembic.config import Config

from pgsched.store.admin.migrate import migrate, migration_sql
from pgsched.store.admin.schema_revisions import check_schema, migrations_dir
from pgsched.store.admin.upgrade_steps import sqlalchemy_url
from pgsched.store.core.session_settings import PINNED
from tests.migrations.schema_catalog import dump
from tests.migrations.test_schema import GOLDEN, HEADER

pytestmark = pytest.mark.smoke

ENV = """
from alembic import context
from sqlalchemy import NullPool, create_engine

from pgsched.store.admin.upgrade_steps import after_upgrade, before_upgrade

engine = create_engine(context.config.get_main_option("sqlalchemy.url"), poolclass=NullPool)
with engine.begin() as connection:
    context.configure(connection=connection)
    before_upgrade()
    context.run_migrations()
    after_upgrade()
"""

OWN_VERSION = """
import sqlalchemy as sa
from alembic import op

revision = "shop_1"
down_revision = None


def upgrade() -> None:
    op.create_table("orders", sa.Column("id", sa.Integer, primary_key=True))
"""


@pytest.fixture
def own_config(tmp_path: Path, empty_database_url: str) -> Config:
    """The project's environment has its own version table and tables, and pgsched's migrations beside its own."""
    versions = tmp_path / "versions"
    versions.mkdir()
    (versions / "shop_1.py").write_text(OWN_VERSION)
    (tmp_path / "env.py").write_text(ENV)
    config = Config()
    config.set_main_option("script_location", str(tmp_path))
    config.set_main_option("path_separator", "os")
    config.set_main_option("version_locations", os.pathsep.join([str(versions), str(migrations_dir() / "versions")]))
    config.set_main_option("sqlalchemy.url", sqlalchemy_url(empty_database_url).replace("%", "%%"))
    return config


def test_upgrading_to_heads_upgrades_both_branches(own_config: Config, empty_database_url: str) -> None:
    command.upgrade(own_config, "heads")
    with psycopg.connect(empty_database_url) as connection:
        connection.execute("select id from public.orders")
        connection.execute("select pgsched.schedule('python:settle', key => 'k')")
        assert connection.execute("select key from pgsched.status").fetchall() == [("k",)]
        versions = connection.execute("select version_num from public.alembic_version order by 1").fetchall()
    assert versions == [("pgsched_0001",), ("shop_1",)]


def test_upgrading_again_is_a_no_op(own_config: Config, empty_database_url: str) -> None:
    command.upgrade(own_config, "heads")
    command.upgrade(own_config, "heads")
    with psycopg.connect(empty_database_url) as connection:
        assert connection.execute("select count(*) from pgsched.executions").fetchall() == [(0,)]


def test_the_upgraded_database_passes_the_schema_check(own_config: Config, empty_database_url: str) -> None:
    command.upgrade(own_config, "heads")
    with psycopg.connect(empty_database_url) as connection:
        check_schema(connection)


def test_pgsched_migrate_after_alembic_upgrade_is_a_no_op(own_config: Config, empty_database_url: str) -> None:
    command.upgrade(own_config, "heads")
    migrate(empty_database_url)
    command.upgrade(own_config, "heads")
    with psycopg.connect(empty_database_url) as connection:
        check_schema(connection)


_OF_THEIR_OWN = """
create schema mine;
create function mine.now() returns timestamptz language sql as 'select null::timestamptz';
create function mine.length(text) returns integer language sql as 'select 0';
create function mine.octet_length(text) returns integer language sql as 'select 0';
create domain mine.text as pg_catalog.text check (value is null);
do $$ begin
  execute format('alter database %I set search_path = mine, public, pg_catalog', current_database());
  execute format('alter database %I set client_encoding = LATIN1', current_database());
  execute format('alter database %I set standard_conforming_strings = off', current_database());
  execute format('alter database %I set datestyle = German', current_database());
  execute format('alter database %I set intervalstyle = sql_standard', current_database());
end $$;
"""


@pytest.fixture
def settings_of_their_own(empty_database_url: str) -> None:
    """Makes sessions search the project's schema first, with settings that differ from pgsched's."""
    with psycopg.connect(empty_database_url) as connection:
        connection.execute(_OF_THEIR_OWN)


@pytest.mark.usefixtures("settings_of_their_own")
def test_session_settings_do_not_change_the_pgsched_schema(own_config: Config, empty_database_url: str) -> None:
    command.upgrade(own_config, "heads")
    with psycopg.connect(empty_database_url) as connection:
        connection.execute(PINNED)
        found = HEADER + dump(connection)
    assert found.splitlines() == GOLDEN.read_text(encoding="utf-8").splitlines()


@pytest.mark.usefixtures("settings_of_their_own")
def test_the_projects_migrations_keep_the_projects_session_settings(
    own_config: Config, empty_database_url: str
) -> None:
    command.upgrade(own_config, "heads")
    with psycopg.connect(empty_database_url) as connection:
        connection.execute("select id from mine.orders")


@pytest.mark.usefixtures("settings_of_their_own")
def test_the_printed_sql_restores_the_session_settings(empty_database_url: str) -> None:
    script = migration_sql().replace("BEGIN;", "").replace("COMMIT;", "")
    with psycopg.connect(empty_database_url) as connection:
        connection.execute("set client_encoding = 'UTF8'")  # the file's encoding, which psql sets with \encoding
        connection.execute(script.encode())
        row = connection.execute("select current_setting('search_path'), current_setting('datestyle')").fetchone()
    assert row == ("mine, public, pg_catalog", "German, DMY")
