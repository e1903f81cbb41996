"""Runs the processes of a benchmark side by side, and collects their results unless a process dies.

The processes are forked from a process that has already imported their modules, because the imports take a second of
CPU time.
"""

import multiprocessing
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from queue import Empty
from typing import Any

CONTEXT = multiprocessing.get_context("forkserver")
_LAST_WORDS = 2.0  # seconds for which the result of a process may still arrive after its end


@contextmanager
def running(
    main: Callable[..., None], shares: Sequence[tuple[Any, ...]], *, patience: float = 0
) -> Iterator[list[Any]]:
    """Starts one process for each tuple of arguments in ``shares``. On exit, waits up to ``patience`` seconds for the
    processes to end, then kills the rest.
    """
    processes = [CONTEXT.Process(target=main, args=share, daemon=True) for share in shares]
    for process in processes:
        process.start()
    try:
        yield processes
    finally:
        for process in processes:
            process.join(patience)
            process.kill()
            process.join()


def answers_of(main: Callable[..., None], shares: Sequence[tuple[Any, ...]], *, within: float) -> list[Any]:
    """Runs ``main`` in one process per share, and returns the results. Raises the same errors as ``collect``.

    ``main`` also gets a barrier, which lets all processes start together, and a queue for its result.
    """
    ready, answers = CONTEXT.Barrier(len(shares)), CONTEXT.Queue()
    with running(main, [(*share, ready, answers) for share in shares], patience=10) as processes:
        return collect(answers, processes, within=within)


def collect(answers: Any, processes: Sequence[Any], *, within: float) -> list[Any]:
    """Returns one result per process. Raises AssertionError if a process ends without a result, or if time runs out."""
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
