"""A cache whose total size is limited.

``functools.lru_cache`` limits only the number of entries, which does not limit memory if clients decide the size of
each entry.
"""

from collections import OrderedDict
from collections.abc import Hashable
from threading import Lock
from typing import Generic, TypeVar

V = TypeVar("V")


class Memo(Generic[V]):
    """A thread-safe cache. ``most`` is its maximum total weight. The least recently used values are evicted first."""

    def __init__(self, most: int) -> None:
        self._most, self.weight = most, 0
        self._known: OrderedDict[Hashable, tuple[V, int]] = OrderedDict()
        self._lock = Lock()

    def get(self, key: Hashable) -> V | None:
        """Returns the value for a key, or None if the key is not in the cache."""
        with self._lock:
            found = self._known.get(key)
            if found is None:
                return None
            self._known.move_to_end(key)
            return found[0]

    def put(self, key: Hashable, value: V, weight: int) -> V:
        """Stores a value and returns it."""
        with self._lock:
            if (before := self._known.pop(key, None)) is not None:
                self.weight -= before[1]
            self._known[key] = (value, weight)
            self.weight += weight
            while self.weight > self._most:
                _, (_, freed) = self._known.popitem(last=False)
                self.weight -= freed
        return value
