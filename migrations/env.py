"""Alembic's entry point: `alembic upgrade head` in this directory does what `pgsched migrate` does.

The database URL comes from `pgsched migrate`, or from PGSCHED_DATABASE_URL if alembic is run by hand.
"""

import os
from typing import Any

from alembic import context
from psycopg import Connection
from sqlalchemy import NullPool, create_engine, event

from pgsched.store.admin.upgrade_steps import VERSION_TABLE, after_upgrade, before_upgrade
from pgsched.store.core.new_connection import connect
from pgsched.store.core.session_settings import command_locally

config = context.config


def offline() -> None:
    context.configure(dialect_name="postgresql", literal_binds=True, as_sql=True, **VERSION_TABLE)
    with context.begin_transaction():
        before_upgrade()
        context.run_migrations()
        after_upgrade()


def online() -> None:
    url = config.get_main_option("sqlalchemy.url") or os.environ.get("PGSCHED_DATABASE_URL")
    if not url:
        raise SystemExit("which database? set PGSCHED_DATABASE_URL, or run: pgsched migrate --database-url …")
    # libpq parses the URL, because SQLAlchemy does not support URLs with several hosts.
    address = url.replace("+psycopg://", "://", 1)
    engine = create_engine("postgresql+psycopg://", creator=lambda: _connected(address), poolclass=NullPool)
    event.listen(engine, "begin", lambda begun: _begin(begun.connection.driver_connection))
    with engine.begin() as connection:
        context.configure(connection=connection, transaction_per_migration=False, **VERSION_TABLE)
        before_upgrade()
        context.run_migrations()
        after_upgrade()


def _connected(address: str) -> Connection[Any]:
    """Opens a connection with our settings. SQLAlchemy's first queries precede the event ``begin``."""
    driver = connect(address)
    _begin(driver)
    return driver


def _begin(driver: Connection[Any]) -> None:
    driver.execute(command_locally(driver))


if context.is_offline_mode():
    offline()
else:
    online()
