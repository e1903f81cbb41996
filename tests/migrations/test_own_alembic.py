"""An organisation that has an Alembic environment of its own takes pgsched's versions into it."""

import os
from pathlib import Path

import psycopg
import pytest
from alembic import command
from alembic.config import Config

from pgsched.store.ddl import sqlalchemy_url
from pgsched.store.migrate import check_schema, migrate, migrations_dir

ENV = """
from alembic import context
from sqlalchemy import NullPool, create_engine

from pgsched.store.ddl import after_upgrade, before_upgrade

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
    """Their environment: their own version table and tables, and our versions beside theirs."""
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


def test_both_are_upgraded_together(own_config: Config, empty_database_url: str) -> None:
    command.upgrade(own_config, "heads")
    with psycopg.connect(empty_database_url) as connection:
        connection.execute("select id from public.orders")
        connection.execute("select pgsched.schedule('python:settle', key => 'k')")
        assert connection.execute("select key from pgsched.status").fetchall() == [("k",)]
        versions = connection.execute("select version_num from public.alembic_version order by 1").fetchall()
    assert versions == [("pgsched_0001",), ("shop_1",)]


def test_upgrading_again_is_harmless(own_config: Config, empty_database_url: str) -> None:
    command.upgrade(own_config, "heads")
    command.upgrade(own_config, "heads")
    with psycopg.connect(empty_database_url) as connection:
        assert connection.execute("select count(*) from pgsched.executions").fetchall() == [(0,)]


def test_pgsched_finds_the_schema_that_it_needs(own_config: Config, empty_database_url: str) -> None:
    command.upgrade(own_config, "heads")
    with psycopg.connect(empty_database_url) as connection:
        check_schema(connection)


def test_pgsched_migrate_afterwards_has_nothing_to_do(own_config: Config, empty_database_url: str) -> None:
    command.upgrade(own_config, "heads")
    migrate(empty_database_url)
    command.upgrade(own_config, "heads")
    with psycopg.connect(empty_database_url) as connection:
        check_schema(connection)
