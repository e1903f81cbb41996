"""The API by way of a pooler that lends the server's connections for one transaction."""

from collections.abc import AsyncIterator

import httpx
import pytest

from pgsched.api.app import create_app
from pgsched.settings import Settings
from tests.api.serving import serving
from tests.poolers.calls import call_at_once
from tests.poolers.conftest import Connection


@pytest.fixture
async def apis(transaction_url: str) -> AsyncIterator[list[httpx.AsyncClient]]:
    """Two of them, as two processes would be."""
    settings = Settings(database_url=transaction_url)
    async with serving(create_app(settings)) as one, serving(create_app(settings)) as other:
        yield [one, other]


async def test_each_of_many_calls_at_once_does_what_it_says(apis: list[httpx.AsyncClient], db: Connection) -> None:
    asked = await call_at_once(apis, 400)
    assert asked.differences(db) == []
    assert asked.calls >= 400
