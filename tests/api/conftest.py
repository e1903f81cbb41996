"""The application over ASGI, on a real database."""

from collections.abc import AsyncIterator

import httpx
import pytest

from pgsched.api.app import create_app
from pgsched.settings import Settings
from tests.api.serving import serving


@pytest.fixture
async def api(database_url: str) -> AsyncIterator[httpx.AsyncClient]:
    async with serving(create_app(Settings(database_url=database_url))) as client:
        yield client
