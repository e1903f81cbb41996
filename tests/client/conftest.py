"""Runs the API in its own process, shared by the tests of a module; each test uses its own ids."""

from collections.abc import Iterator

import pytest

from pgsched.sealing import new_key
from pgsched.settings import Settings
from tests.processes import serving_alone


@pytest.fixture(scope="module")
def address(module_url: str) -> Iterator[str]:
    """The address of the API."""
    with serving_alone(Settings(database_url=module_url, port=0, secret_keys=new_key())) as (found, _):
        yield found
