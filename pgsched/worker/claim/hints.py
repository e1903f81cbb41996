"""Passes notifications on, at a rate that does not depend on how many come.

As long as few come, each is passed on at once. Anybody may send thousands a second: then they gather for some
milliseconds and are passed on together, each kind once. The number of bytes that are read of them is bounded, too; of
notifications beyond it only the number is passed on, which makes the worker look at all partitions by itself.
"""

import asyncio
import time
from collections.abc import Callable, Collection, Mapping

from pgsched.domain.notification import MOST_ROWS, STOP, parse_notice
from pgsched.store.core.wire import UNIX_TO_WIRE
from pgsched.worker.claim.polling import RINGS, WITHIN

_APART, _WORDS_APART, _FAR_BACK_APART = 0.005, 0.05, 0.25
_READ_EACH, _READ_BYTES = 0.02, 16_384
_FAR_BACK = 10_000_000  # microseconds: what is older lies behind rows that have been settled, and takes long to read
_MOST_ENDED = 10_000
_AT_ONCE = {STOP: 8, "gates": 4}
"""How often what keeps rows from beginning is passed on at once: their instants may be milliseconds away."""


class Throttle:
    """Calls ``pass_on`` soon after each ``wake``: at once, or ``apart`` seconds after the last time."""

    def __init__(self, apart: float, pass_on: Callable[[], None], *, at_once: int = 1, within: float = 0.0) -> None:
        self._apart, self._pass_on = apart, pass_on
        self._at_once, self._within = at_once, max(within, apart)
        self._count, self._since = 0, float("-inf")
        self._timer: asyncio.TimerHandle | None = None

    def wake(self) -> None:
        if self._timer is not None:
            return
        now = time.monotonic()
        if now - self._since > self._within:
            self._count, self._since = 0, now
        self._count += 1
        if self._count <= self._at_once:
            self._pass_on()
        else:
            self._timer = asyncio.get_running_loop().call_later(self._apart, self._fire)

    def _fire(self) -> None:
        self._timer = None
        self._pass_on()

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class ReadBudget:
    """Bounds the bytes that are read in a short time."""

    def __init__(self) -> None:
        self._read, self._since = 0, float("-inf")

    def may_read(self, size: int) -> bool:
        now = time.monotonic()
        if now - self._since > _READ_EACH:
            self._read, self._since = 0, now
        self._read += size
        return self._read <= _READ_BYTES


class Hints:
    """Calls ``expect`` with each announced row's partition and instant, which returns whether the partition is claimed
    from; ``rung`` when a writer notified; ``ended`` with executions that ended or were changed; for any other word its
    entry in ``changed``. ``look`` makes the worker look at all partitions by itself."""

    def __init__(
        self,
        *,
        expect: Callable[[int, int], bool],
        rung: Callable[[], None],
        look: Callable[[], None],
        changed: Mapping[str, Callable[[], None]],
        ended: Callable[[Collection[bytes]], None],
        now: Callable[[], int],
    ) -> None:
        self._expect, self._rung, self._look, self._ended, self._now = expect, rung, look, ended, now
        self._words = {
            word: Throttle(_WORDS_APART, wake, at_once=_AT_ONCE.get(word, 1), within=WITHIN * (word in _AT_ONCE))
            for word, wake in changed.items()
        }
        self._rows: dict[int, int] = {}
        self._rings = 0
        self._unread = False
        self._far_back: dict[int, int] = {}
        self._ids: set[bytes] = set()
        self._near = Throttle(_APART, self._pass_on_rows, at_once=RINGS, within=WITHIN)
        self._far = Throttle(_FAR_BACK_APART, self._pass_on_far_back)
        self._ends = Throttle(_WORDS_APART, self._pass_on_ended, at_once=_AT_ONCE[STOP], within=WITHIN)
        self._tellings, self._stops = ReadBudget(), ReadBudget()

    def take(self, payload: str) -> None:
        """Takes a notification."""
        if payload in self._words:
            self._words[payload].wake()
        elif payload.startswith(STOP):
            if self._stops.may_read(len(payload)):  # else the next renewal of the leases finds out
                self._take_notice(payload)
        elif len(payload) > MOST_ROWS:
            return
        elif self._tellings.may_read(len(payload)):
            self._take_notice(payload)
        else:
            self._unread = True
            self._rings += 1
            self._near.wake()

    def stop(self) -> None:
        """Passes nothing on any more."""
        for pace in (self._near, self._far, self._ends, *self._words.values()):
            pace.stop()

    def _take_notice(self, payload: str) -> None:
        notice = parse_notice(payload)
        long_ago = self._now() - _FAR_BACK
        for partition, since_1970 in notice.rows:
            instant = since_1970 - UNIX_TO_WIRE
            known = self._rows if instant >= long_ago else self._far_back
            known[partition] = min(instant, known.get(partition, instant))
        if notice.ended and len(self._ids) < _MOST_ENDED:
            self._ids.update(notice.ended)
            self._ends.wake()
        if self._far_back:
            self._far.wake()
        if self._rows:
            self._rings += 1
            self._near.wake()

    def _pass_on_rows(self) -> None:
        rows, rings, unread = self._rows, self._rings, self._unread
        self._rows, self._rings, self._unread = {}, 0, False
        served = [self._expect(partition, instant) for partition, instant in rows.items()]
        if unread or any(served):
            for _ in range(RINGS if unread else min(rings, RINGS)):
                self._rung()
        if unread:
            self._look()

    def _pass_on_far_back(self) -> None:
        rows, self._far_back = self._far_back, {}
        served = [self._expect(partition, instant) for partition, instant in rows.items()]
        if any(served):
            self._rung()

    def _pass_on_ended(self) -> None:
        ids, self._ids = self._ids, set()
        self._ended(ids)
