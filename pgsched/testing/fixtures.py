"""The fixtures of ``pytest_plugins = ["pgsched.testing"]``; the application overrides the first two."""

from collections.abc import Iterator

import pytest

from pgsched.delivery.app import App
from pgsched.testing.kit import Kit


@pytest.fixture
def pgsched_database_url() -> str:
    """The URL of the test database, to which pgsched's migrations have been applied. Override this fixture."""
    raise pytest.UsageError(
        "the tests have no database: define a fixture pgsched_database_url that returns its URL, such as "
        "postgresql://user@host/shop_test, with a role that owns pgsched there"
    )


@pytest.fixture
def pgsched_app() -> App:
    """The application whose handlers run. By default, it has no handlers."""
    return App()


@pytest.fixture
def pgsched_kit(pgsched_database_url: str, pgsched_app: App) -> Iterator[Kit]:
    """A ``Kit`` for the test. Nothing is scheduled when the test begins; when it ends, the clock is restarted."""
    with Kit(pgsched_database_url, pgsched_app) as kit:
        kit.clear()
        yield kit
