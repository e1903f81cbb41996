"""Cached values are shared for a limited time. Failures are not cached."""

from collections.abc import Iterator

import pytest

from pgsched.api.cached import Cached
from pgsched.domain.api_key import EVERYBODY


async def test_a_failed_lookup_is_not_cached() -> None:
    answers: Iterator[int | OSError] = iter([1, OSError("away"), 2])

    async def look() -> int:
        found = next(answers)
        if isinstance(found, OSError):
            raise found
        return found

    cached = Cached(look, seconds=0)
    assert await cached.get(EVERYBODY) == 1
    with pytest.raises(OSError, match="away"):
        await cached.get(EVERYBODY)
    assert await cached.glance(EVERYBODY, kept=60) == 2
    assert await cached.glance(EVERYBODY, kept=60) == 2
