"""The delays of the machine itself, which are not the fault of an attack."""

import threading
import time
from collections import deque

_BEAT = 0.01


class Metronome(threading.Thread):
    """Sleeps for a hundredth of a second at a time, and records by how much it overslept."""

    def __init__(self) -> None:
        super().__init__(name="metronome", daemon=True)
        self._overslept: deque[tuple[float, float]] = deque(maxlen=100_000)
        self._ended = threading.Event()

    def run(self) -> None:
        while not self._ended.is_set():
            began = time.monotonic()
            time.sleep(_BEAT)
            self._overslept.append((time.time(), time.monotonic() - began - _BEAT))

    def end(self) -> None:
        self._ended.set()
        self.join()

    def overslept(self, start: float, end: float) -> float:
        """Returns the 99th percentile of delays between two moments, in seconds."""
        found = sorted(delay for at, delay in list(self._overslept) if start <= at <= end)
        return found[len(found) * 99 // 100] if found else 0.0
