"""The application over ASGI, on a real database."""

from collections.abc import AsyncIterator, Iterator
from functools import cache

import httpx
import psycopg
import pytest
import pytest_asyncio
from litestar import Litestar

from pgsched.api import connection_pool
from pgsched.api.app import create_app
from pgsched.api.connection_pool import WAIT
from pgsched.api.parts import Parts
from pgsched.sealing import new_key
from pgsched.settings import Settings
from pgsched.telemetry import Events
from tests.api.access_arrange import make_key
from tests.api.page_arrange import OWN, signed_in
from tests.api.serving import serving
from tests.conftest import Connection
from tests.kept_sessions import KeptConnection
from tests.processes import Process, serving_alone

KEY = new_key()


class _KeptConnection(connection_pool._Connection, KeptConnection):  # type: ignore[misc]
    """A connection whose session the next application reuses."""


@pytest.fixture(autouse=True)
def _kept_sessions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_pool, "_Connection", _KeptConnection)


@cache
def app_of(database_url: str) -> Litestar:
    """The application of a database that tests share one after another."""
    return create_app(Settings(database_url=database_url, secret_keys=KEY))


@pytest.fixture
async def api(database_url: str) -> AsyncIterator[httpx.AsyncClient]:
    async with serving(app_of(database_url)) as client:
        yield client


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def refusing(module_url: str) -> AsyncIterator[httpx.AsyncClient]:
    """The application on a database per test module, for requests that are refused and change nothing."""
    async with serving(app_of(module_url)) as client:
        yield client


@pytest.fixture(scope="module")
def witness(module_url: str) -> Iterator[Connection]:
    """An autocommit connection to the database of `refusing`."""
    with psycopg.connect(module_url, autocommit=True) as connection:
        yield connection


@pytest.fixture
def served(database_url: str) -> Iterator[tuple[str, Process]]:
    """The address and the process of an API server for this test alone."""
    with serving_alone(Settings(database_url=database_url, port=0)) as found:
        yield found


@cache
def _page_app_of(database_url: str) -> Litestar:
    return create_app(Settings(database_url=database_url))


@pytest.fixture
def page_app(database_url: str) -> Litestar:
    """An application with new state, since tests of pages create keys. Its routes are reused, since building them takes
    longer than most of these tests."""
    app = _page_app_of(database_url)
    _forget(app.state["parts"], Parts(Settings(database_url=database_url), database_url, Events(), wait=WAIT))
    return app


def _forget(parts: Parts, new: Parts) -> None:
    """Overwrites the state of the parts that routes refer to with that of new parts."""
    given = parts._shared | {"guard": parts.guard, "requests": parts.requests}
    for name, part in given.items():
        if part is not None:
            part.__dict__ = vars(new._shared[name] if name in new._shared else getattr(new, name))
    parts.__dict__ = vars(new) | {"_shared": parts._shared, "guard": parts.guard, "requests": parts.requests}


@pytest.fixture
async def keyed(page_app: Litestar) -> AsyncIterator[httpx.AsyncClient]:
    """The API for tests that create keys."""
    async with serving(page_app) as client:
        yield client


@pytest.fixture
async def page(page_app: Litestar, db: Connection) -> AsyncIterator[httpx.AsyncClient]:
    """A browser on the dashboard, signed in with all scopes for all clients."""
    async with serving(page_app) as client:
        client.headers.update(OWN | {"Host": "localhost"})
        signed_in(client, make_key(db, subject="ann"))
        yield client
