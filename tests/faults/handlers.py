"""The handlers of the load, which note what arrives in a file outside the system, and those that do harm."""

from typing import Any

from tests.adversary.handlers import app

__all__ = ["app"]

_LARGE = 50_000_000


@app.handler("large")
async def large(payload: Any) -> str:
    """Returns far more than is kept of a result."""
    return "x" * _LARGE
