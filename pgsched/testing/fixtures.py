"""The fixtures of ``pytest_plugins = ["pgsched.testing"]``; the first two are for the application to override."""

from collections.abc import Iterator

import pytest

from pgsched.delivery.app import App
from pgsched.testing.kit import Kit


@pytest.fixture
def pgsched_database_url() -> str:
    """The address of the test's database, in which pgsched was migrated. To be overridden."""
    raise pytest.UsageError(
        "which database do the tests use? Define a fixture pgsched_database_url that returns its address, such as "
        "postgresql://user@host/shop_test, as a role that owns pgsched there"
    )


@pytest.fixture
def pgsched_app() -> App:
    """The application whose handlers run. To be overridden; without, there are none."""
    return App()


@pytest.fixture
def pgsched_kit(pgsched_database_url: str, pgsched_app: App) -> Iterator[Kit]:
    """A ``Kit`` for the test. It begins with nothing scheduled, and the clock goes on as before at its end."""
    with Kit(pgsched_database_url, pgsched_app) as kit:
        kit.clear()
        yield kit
