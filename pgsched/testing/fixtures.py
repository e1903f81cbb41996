"""The fixtures of ``pytest_plugins = ["pgsched.testing"]``; the application overrides the first two."""

from collections.abc import Iterator

import pytest

from pgsched.delivery.app import App
from pgsched.testing.kit import Kit


@pytest.fixture
def pgsched_database_url() -> str:
    """The address of the test database, in which pgsched has been migrated. To be overridden."""
    raise pytest.UsageError(
        "the tests have no database: define a fixture pgsched_database_url that returns its URL, such as "
        "postgresql://user@host/shop_test, with a role that owns pgsched there"
    )


@pytest.fixture
def pgsched_app() -> App:
    """The application whose handlers run. To be overridden; by default it has no handlers."""
    return App()


@pytest.fixture
def pgsched_kit(pgsched_database_url: str, pgsched_app: App) -> Iterator[Kit]:
    """A ``Kit`` for the test. It starts with nothing scheduled, and lets the clock run again at the end."""
    with Kit(pgsched_database_url, pgsched_app) as kit:
        kit.clear()
        yield kit
