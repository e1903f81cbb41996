"""Creates a database for a benchmark, and drops it afterwards."""

import secrets
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import psycopg
from psycopg import sql

from pgsched.bench.seed_rows import seeded
from pgsched.embedded import EmbeddedPostgres
from pgsched.store.admin.migrate import migrate

# Memory and checkpoint settings as on a machine dedicated to PostgreSQL; durability is unchanged.
_SERVER = {
    "shared_buffers": "2GB",
    "max_wal_size": "8GB",
    "checkpoint_timeout": "15min",
    "synchronous_commit": "on",
}


@contextmanager
def fresh_database(url: str | None, *, settings: Mapping[str, str] | None = None) -> Iterator[str]:
    """Yields the URL of a new, migrated database on the server at ``url`` or, without ``url``, on an embedded server.
    The database is dropped at the end, even after an error.

    ``settings`` are additional settings of the embedded server. On any other server, the role needs CREATEDB.
    """
    if url is None:
        with (
            tempfile.TemporaryDirectory(prefix="pgsched-bench-") as directory,
            EmbeddedPostgres(Path(directory) / "postgres", settings=_SERVER | dict(settings or {})) as server,
            fresh_database(server.url) as own,
        ):
            yield own
        return
    name = f"pgsched_bench_{secrets.token_hex(4)}"
    own = urlunsplit(urlsplit(url)._replace(path=f"/{name}"))
    try:
        make(url, own)
        yield own
    finally:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(sql.SQL("drop database if exists {} with (force)").format(sql.Identifier(name)))


def make(url: str, own: str) -> None:
    """Creates and migrates the database named in ``own``, over a connection to ``url`` on the same server."""
    with psycopg.connect(url, autocommit=True) as connection:
        name = sql.Identifier(urlsplit(own).path.removeprefix("/"))
        connection.execute(sql.SQL("create database {}").format(name))
    migrate(own)


@contextmanager
def loading(url: str | None, seed: int) -> Iterator[tuple[str, psycopg.Connection[Any]]]:
    """Yields the URL of a new database, and a connection for loading it.

    The connection does not notify workers, and its random values are the same in every run with this seed.
    """
    with fresh_database(url) as own, psycopg.connect(own, autocommit=True) as connection:
        connection.execute("set pgsched.notify = off")
        seeded(connection, seed)
        yield own, connection
