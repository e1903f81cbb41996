"""A publishing server of the version under test and a subscribing server of the newest version, as in an upgrade."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from secrets import token_hex

import psycopg
import pytest

from pgsched.embedded import EmbeddedPostgres, bundled_bin_dir
from pgsched.store.admin.migrate import migrate
from tests.conftest import tested_bin_dir
from tests.replication.pair import LOGICAL, Pair, following
from tests.replication.standby import Standby, standby_of

_SMALL = {"shared_buffers": "64MB", "max_connections": "100", "synchronous_commit": "on"}
Follow = Callable[..., AbstractContextManager[Pair]]


@pytest.fixture(scope="session")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """The URLs of both servers."""
    place = tmp_path_factory.mktemp("replication")
    with (
        EmbeddedPostgres(place / "source", bin_dir=tested_bin_dir(), settings=LOGICAL) as source,
        EmbeddedPostgres(place / "copy", bin_dir=bundled_bin_dir(), settings=LOGICAL) as copy,
    ):
        with psycopg.connect(source.url, autocommit=True) as connection:
            connection.execute("create database migrated")
        migrate(source.url.replace("/pgsched", "/migrated"))
        yield source.url, copy.url


@pytest.fixture
def follow(servers: tuple[str, str]) -> Follow:
    """`with follow(options) as pair`: a migrated database and a copy that subscribes to it."""

    @contextmanager
    def made(options: str = "") -> Iterator[Pair]:
        name = f"followed_{token_hex(4)}"
        for url, template in zip(servers, ("migrated", "template0"), strict=True):
            with psycopg.connect(url, autocommit=True) as connection:
                connection.execute(f"create database {name} template {template}".encode())
        source, copy = (url.replace("/pgsched", f"/{name}") for url in servers)
        with following(source, copy, programs=bundled_bin_dir(), options=options) as pair:
            yield pair

    return made


@pytest.fixture
def standby(tmp_path: Path) -> Iterator[Standby]:
    """A migrated server and a standby that follows it by streaming replication."""
    with (
        EmbeddedPostgres(tmp_path / "primary", bin_dir=tested_bin_dir(), settings=_SMALL) as primary,
        standby_of(primary, tmp_path / "standby", tested_bin_dir()) as standby,
    ):
        assert migrate(standby.either) == []
        yield standby
