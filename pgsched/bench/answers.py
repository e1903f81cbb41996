"""Waits for what processes have to tell, and does not wait for the dead."""

import time
from collections.abc import Sequence
from queue import Empty
from typing import Any

_LAST_WORDS = 2.0  # what a process put into the queue may still be on its way when it has ended


def collect(answers: Any, processes: Sequence[Any], *, within: float) -> list[Any]:
    """One answer of each process. Raises AssertionError when one ended without, or the seconds are over."""
    found: list[Any] = []
    deadline = time.monotonic() + within
    dead_since = float("inf")
    while len(found) < len(processes):
        try:
            found.append(answers.get(timeout=0.1))
        except Empty:
            now = time.monotonic()
            alive = sum(process.is_alive() for process in processes)
            dead_since = min(dead_since, now) if alive < len(processes) - len(found) else float("inf")
            if now - dead_since > _LAST_WORDS or now > deadline:
                raise AssertionError(f"{len(found)} of {len(processes)} processes told what they did") from None
    return found
