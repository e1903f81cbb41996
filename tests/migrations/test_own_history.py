"""A project with a year of its own Alembic history adds pgsched's migrations."""

import os
from pathlib import Path

import psycopg
import pytest
from alembic import command
from alembic.config import Config
from alembic.util import CommandError

from pgsched.store.admin.migrate import migrate
from pgsched.store.admin.schema_revisions import check_schema, migrations_dir
from pgsched.store.admin.upgrade_steps import sqlalchemy_url

pytestmark = pytest.mark.smoke

ENV = """
import sqlalchemy as sa
from alembic import context

from pgsched.store.admin.upgrade_steps import after_upgrade, before_upgrade

metadata = sa.MetaData()
sa.Table("orders", metadata, sa.Column("id", sa.Integer, primary_key=True), sa.Column("paid", sa.Boolean),
         sa.Column("sent", sa.Boolean), sa.Column("note", sa.Text))


def include_name(name, type_, parent_names):
    return not (type_ == "schema" and name in ("pgsched", "pgsched_internal"))


engine = sa.create_engine(context.config.get_main_option("sqlalchemy.url"), poolclass=sa.NullPool)
with engine.begin() as connection:
    context.configure(
        connection=connection, target_metadata=metadata, include_schemas=True, include_name=include_name
    )
    before_upgrade()
    context.run_migrations()
    after_upgrade()
"""

TEMPLATE = """
from alembic import op
import sqlalchemy as sa

revision = ${repr(up_revision)}
down_revision = ${repr(down_revision)}
branch_labels = ${repr(branch_labels)}


def upgrade():
    ${upgrades if upgrades else "pass"}


def downgrade():
    ${downgrades if downgrades else "pass"}
"""

VERSION = """
import sqlalchemy as sa
from alembic import op

revision, down_revision, branch_labels = {revision!r}, {before!r}, {labels!r}


def upgrade():
    op.execute({up!r})


def downgrade():
    op.execute({down!r})
"""
HISTORY = [
    ("shop_1", None, "create table public.orders (id integer primary key)", "drop table public.orders"),
    ("shop_2", "shop_1", "alter table public.orders add paid boolean", "alter table public.orders drop paid"),
    ("shop_3", "shop_2", "alter table public.orders add sent boolean", "alter table public.orders drop sent"),
]


@pytest.fixture
def project(tmp_path: Path, empty_database_url: str) -> Config:
    versions = tmp_path / "versions"
    versions.mkdir()
    for revision, before, up, down in HISTORY:
        labels = ("shop",) if before is None else None
        text = VERSION.format(revision=revision, before=before, labels=labels, up=up, down=down)
        (versions / f"{revision}.py").write_text(text)
    (tmp_path / "env.py").write_text(ENV)
    (tmp_path / "script.py.mako").write_text(TEMPLATE)
    config = Config()
    config.set_main_option("script_location", str(tmp_path))
    config.set_main_option("path_separator", "os")
    config.set_main_option("version_locations", os.pathsep.join([str(versions), str(migrations_dir() / "versions")]))
    config.set_main_option("sqlalchemy.url", sqlalchemy_url(empty_database_url).replace("%", "%%"))
    return config


def _columns(url: str) -> list[str]:
    with psycopg.connect(url) as connection:
        found = connection.execute(
            "select attname from pg_attribute where attrelid = 'public.orders'::regclass and attnum > 0 "
            "and not attisdropped order by attnum"
        )
        return [row[0] for row in found]


def _has_pgsched(url: str) -> bool:
    with psycopg.connect(url) as connection:
        row = connection.execute("select to_regclass('pgsched.executions') is not null").fetchone()
    return bool(row and row[0])


def test_alembic_current_on_an_empty_database_changes_nothing(project: Config, empty_database_url: str) -> None:
    command.current(project)
    with psycopg.connect(empty_database_url) as connection:
        row = connection.execute("select to_regnamespace('pgsched') is null").fetchone()
    assert row == (True,)


def test_the_projects_branch_can_be_upgraded_first(project: Config, empty_database_url: str) -> None:
    command.upgrade(project, "shop@head")
    assert (_columns(empty_database_url), _has_pgsched(empty_database_url)) == (["id", "paid", "sent"], False)
    command.current(project)
    command.upgrade(project, "heads")
    with psycopg.connect(empty_database_url) as connection:
        check_schema(connection)


def test_the_pgsched_branch_can_be_upgraded_first(project: Config, empty_database_url: str) -> None:
    command.upgrade(project, "pgsched@head")
    command.upgrade(project, "shop@head")
    command.upgrade(project, "heads")
    with psycopg.connect(empty_database_url) as connection:
        check_schema(connection)


def test_autogenerate_on_the_projects_branch_ignores_pgsched_tables(
    project: Config, empty_database_url: str, tmp_path: Path
) -> None:
    command.upgrade(project, "heads")
    with pytest.raises(CommandError, match="Multiple heads"):
        command.revision(project, "note", autogenerate=True)
    command.revision(project, "note", autogenerate=True, head="shop@head", version_path=str(tmp_path / "versions"))
    [made] = [path for path in (tmp_path / "versions").glob("*.py") if not path.stem.startswith("shop_")]
    text = made.read_text()
    assert "down_revision = 'shop_3'" in text
    assert "pgsched" not in text
    assert text.count("op.") == 2
    command.upgrade(project, "heads")
    assert _columns(empty_database_url) == ["id", "paid", "sent", "note"]


def test_downgrading_the_projects_branch_keeps_the_pgsched_schema(project: Config, empty_database_url: str) -> None:
    command.upgrade(project, "heads")
    command.downgrade(project, "shop@-1")
    assert (_columns(empty_database_url), _has_pgsched(empty_database_url)) == (["id", "paid"], True)
    command.upgrade(project, "heads")
    assert _columns(empty_database_url) == ["id", "paid", "sent"]


def test_a_database_migrated_by_pgsched_can_be_stamped_and_upgraded(project: Config, empty_database_url: str) -> None:
    migrate(empty_database_url)
    command.upgrade(project, "shop@head")
    with psycopg.connect(empty_database_url) as connection:
        check_schema(connection)
    command.stamp(project, "pgsched@head")
    command.upgrade(project, "heads")
    with psycopg.connect(empty_database_url) as connection:
        check_schema(connection)
        connection.execute("select pgsched.schedule('python:settle')")
