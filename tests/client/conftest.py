"""The API in a process of its own, shared by the tests of a module; they keep apart by the ids they make."""

import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from pgsched.sealing import new_key
from pgsched.settings import Settings
from tests.processes import serving_alone


@pytest.fixture(scope="module")
def served_url(janitor: Any, template: str) -> Iterator[str]:
    """The address of the API's database."""
    name = f"served_{uuid.uuid4().hex[:12]}"
    with janitor.make(name, template=template):
        yield janitor.url_of(name)


@pytest.fixture(scope="module")
def address(served_url: str) -> Iterator[str]:
    """The address of the API."""
    with serving_alone(Settings(database_url=served_url, port=0, secret_keys=new_key())) as (found, _):
        yield found
