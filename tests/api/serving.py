"""The application over ASGI, without a server."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, cast

import httpx
from litestar import Litestar


@asynccontextmanager
async def serving(app: Litestar) -> AsyncIterator[httpx.AsyncClient]:
    """Starts the application and yields a client. Startup and shutdown run in one task, as in a server."""
    started, stop = asyncio.Event(), asyncio.Event()

    async def live() -> None:
        async with app.lifespan():
            started.set()
            await stop.wait()

    living = asyncio.create_task(live())
    await started.wait()
    transport = httpx.ASGITransport(cast(Any, app))
    try:
        async with httpx.AsyncClient(
            transport=transport, base_url="http://127.0.0.1", headers={"X-Requested-With": "tests"}
        ) as client:
            yield client
    finally:
        stop.set()
        await living
