"""Migrations accept the same database URLs as workers and the API, since libpq parses them all."""

import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from pgsched.embedded.processes import free_port
from pgsched.errors import InvalidSettings
from pgsched.settings import Settings
from pgsched.store.admin.migrate import migrate
from pgsched.store.admin.schema_revisions import check_schema
from pgsched.store.admin.up_logins import as_login

pytestmark = pytest.mark.smoke


def _parts(url: str) -> dict[str, str]:
    return {name: str(value) for name, value in conninfo_to_dict(url).items()}


def _check(url: str) -> None:
    migrate(Settings(database_url=url).database_url or "")
    with psycopg.connect(url) as connection:
        check_schema(connection)


def test_migrate_accepts_several_hosts_if_one_host_is_reachable(empty_database_url: str) -> None:
    given = _parts(empty_database_url)
    hosts = f"127.0.0.1:{free_port()},{given['host']}:{given['port']}"
    login = f"{given['user']}:{given['password']}"
    _check(f"postgresql://{login}@{hosts}/{given['dbname']}?target_session_attrs=read-write")


@pytest.fixture
def directory(empty_database_url: str, tmp_path: Path) -> Iterator[Path]:
    """A directory with a server socket that forwards to the tests' server."""
    given = _parts(empty_database_url)
    place = Path("/tmp") / f"pgsched-{tmp_path.name}-{free_port()}"  # a socket's path is limited to about 100 bytes
    place.mkdir()
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(place / ".s.PGSQL.5432"))
    listener.listen()
    stop = threading.Event()
    threading.Thread(target=_accept, args=(listener, (given["host"], int(given["port"])), stop), daemon=True).start()
    yield place
    stop.set()
    with socket.socket(socket.AF_UNIX) as last:
        last.connect(str(place / ".s.PGSQL.5432"))
    (place / ".s.PGSQL.5432").unlink()
    place.rmdir()


def _accept(listener: socket.socket, server: tuple[str, int], stop: threading.Event) -> None:
    with listener:
        while True:
            client, _ = listener.accept()
            if stop.is_set():
                client.close()
                return
            answering = socket.create_connection(server)
            for one, other in ((client, answering), (answering, client)):
                threading.Thread(target=_pass_on, args=(one, other), daemon=True).start()


def _pass_on(one: socket.socket, other: socket.socket) -> None:
    with one:
        with suppress(OSError):
            while data := one.recv(65536):
                other.sendall(data)
        with suppress(OSError):
            other.shutdown(socket.SHUT_RDWR)


@pytest.mark.parametrize("form", ["postgresql://{login}@/{name}?host={place}", "postgresql://{login}@{quoted}/{name}"])
def test_migrate_accepts_a_unix_socket_url(empty_database_url: str, directory: Path, form: str) -> None:
    given = _parts(empty_database_url)
    quoted = str(directory).replace("/", "%2F")
    login = f"{given['user']}:{given['password']}"
    _check(form.format(login=login, name=given["dbname"], place=directory, quoted=quoted))


def test_migrate_accepts_a_password_with_special_characters(empty_database_url: str) -> None:
    given = _parts(empty_database_url)
    with psycopg.connect(empty_database_url, autocommit=True) as admin:
        admin.execute("create role any_password superuser login password 'p@ss/w#rd'")
        try:
            url = f"postgresql://any_password:p%40ss%2Fw%23rd@{given['host']}:{given['port']}/{given['dbname']}"
            _check(url)
            worker = as_login(url, "worker", Path("/logins"))
        finally:
            admin.execute("reassign owned by any_password to postgres; drop owned by any_password")
            admin.execute("drop role any_password")
    assert worker == f"postgresql://worker@{given['host']}:{given['port']}/{given['dbname']}?passfile=/logins"


@pytest.mark.parametrize("password", ["p@ss/w#rd", "a/b", "50%", "what?", "a#b", "a@b"])
def test_an_unencoded_password_is_refused_with_advice(password: str) -> None:
    with pytest.raises(InvalidSettings, match="%25"):
        Settings(database_url=f"postgresql://postgres:{password}@127.0.0.1/shop")


@pytest.mark.parametrize(
    "url",
    [
        "postgresql:///shop?user=a@b",
        "postgresql://a:b@h1:1,h2:2/shop?options=-c%20x=y",
        "postgresql://a@[::1]:5432/shop?sslmode=require",
        "postgresql://a@%2Fvar%2Frun/shop",
        "postgres://h/shop?host=/var/run&user=me@corp",
    ],
)
def test_valid_urls_are_left_unchanged(url: str) -> None:
    assert Settings(database_url=url).database_url == url
