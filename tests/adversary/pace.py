"""How much longer this machine computes than the one for which the bounds of lateness were set: what a neighbour has
the workers do takes so much longer, and the others wait for it."""

import functools
import time

_ADDITIONS = 1_000_000
_USUAL = 0.045
"""Seconds that so many take there, whose bare loop of claims and settles drains 109,000 executions a second; a machine
that drains 72,000 takes 0.066."""
_SLOWEST = 2.0
"""A machine that is slower still is too slow for the bounds."""


@functools.cache
def pace() -> float:
    """At least 1. Measured once, since the work of neighbours is not to count."""
    return min(max(min(_add() for _ in range(5)) / _USUAL, 1.0), _SLOWEST)


def _add() -> float:
    began, total = time.process_time(), 0
    for number in range(_ADDITIONS):
        total += number
    return time.process_time() - began
