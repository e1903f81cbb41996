"""Processes that measure side by side: starts them, collects their answers, and stops waiting when one has died."""

import multiprocessing
import time
from collections.abc import Callable, Sequence
from queue import Empty
from typing import Any

_LAST_WORDS = 2.0  # seconds in which the answer of a process that has ended may still arrive
_context = multiprocessing.get_context("spawn")


def answers_of(main: Callable[..., None], shares: Sequence[tuple[Any, ...]], *, within: float) -> list[Any]:
    """Runs ``main`` in a process for each share, with a barrier at which all of them begin, and a queue for its answer.

    Raises AssertionError as ``collect`` does.
    """
    ready, answers = _context.Barrier(len(shares)), _context.Queue()
    started = [_context.Process(target=main, args=(*share, ready, answers), daemon=True) for share in shares]
    for process in started:
        process.start()
    try:
        return collect(answers, started, within=within)
    finally:
        for process in started:
            process.join(10)
            process.kill()


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
