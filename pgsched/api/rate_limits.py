"""How fast somebody may ask: so many requests a second, a burst at once after a lull, counted in this process."""

import time
from collections.abc import Callable

from pgsched.errors import TooManyRequests

_MANY = 1000


class RateLimits:
    """When each one's next request was due, had all come evenly: the generic cell rate algorithm (ITU-T I.371)."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._due: dict[str, float] = {}

    def take(self, who: str, rate: int, burst: int) -> None:
        """Counts a request of somebody, such as ``the key 3f9c0a7e51d2b846``. Raises TooManyRequests for one that comes
        too early, which does not count."""
        now = self._clock()
        due = max(self._due.get(who, now), now)
        if due - now > (burst - 1) / rate:
            raise TooManyRequests(f"{who} is held to {rate} requests a second: try again in a moment")
        if len(self._due) > _MANY:
            self._due = {other: at for other, at in self._due.items() if at > now}
        self._due[who] = due + 1 / rate
