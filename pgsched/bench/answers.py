"""Collects the answers of processes, and stops waiting when one has died."""

import time
from collections.abc import Sequence
from queue import Empty
from typing import Any

_LAST_WORDS = 2.0  # seconds in which the answer of a process that has ended may still arrive


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
                raise AssertionError(f"{len(found)} of {len(processes)} processes answered") from None
    return found
