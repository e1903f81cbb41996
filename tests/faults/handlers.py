"""The load's handlers, which record arrivals in a file outside the system, and handlers that do harm."""

from typing import Any

from tests.adversary.handlers import app

__all__ = ["app"]

_LARGE = 50_000_000


@app.handler("large")
async def large(payload: Any) -> str:
    """Returns far more than the result that is stored."""
    return "x" * _LARGE
