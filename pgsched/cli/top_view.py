"""What of a look at the installation is shown by ``pgsched top``, in which order; keys change that."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pgsched.store.lookup.now import Edge, Now
from pgsched.store.lookup.now_lines import Shown, lines_of

SORTS = ("late", "due", "in hand", "name")
HELP = "q quits  s sorts  / filters  p pauses"


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """How it is looked at. While ``typing``, keys are letters of the filter."""

    sort: str = SORTS[0]
    filter: str = ""
    typing: bool = False
    paused: bool = False
    done: bool = False

    def press(self, key: str) -> "View":
        """The view after a key."""
        if self.typing:
            return self._typed(key)
        match key:
            case "q" | "\x04":
                return replace(self, done=True)
            case "s":
                return replace(self, sort=SORTS[(SORTS.index(self.sort) + 1) % len(SORTS)])
            case "/":
                return replace(self, typing=True, filter="")
            case "p" | " ":
                return replace(self, paused=not self.paused)
            case "\x1b":
                return replace(self, filter="")
        return self

    def _typed(self, key: str) -> "View":
        match key:
            case "\r" | "\n":
                return replace(self, typing=False)
            case "\x1b":
                return replace(self, typing=False, filter="")
            case "\x7f" | "\x08":
                return replace(self, filter=self.filter[:-1])
        return replace(self, filter=(self.filter + key)[:40]) if key.isprintable() else self

    def of(self, now: Now, before: Now | None = None) -> Shown:
        """What is shown of a look, with rates since the one before."""
        found = lines_of(now, before)
        return Shown(
            queues=self._ordered(found.queues, lambda line: line.name, lambda line: line.edge),
            clients=self._ordered(found.clients, lambda edge: edge.client or "", lambda edge: edge),
            workers=self._ordered(found.workers, lambda line: line.worker.name, lambda line: line.edge),
            gates=found.gates,
        )

    def _ordered(self, lines: Sequence[Any], name: Callable[[Any], str], edge: Callable[[Any], Edge]) -> list[Any]:
        found = sorted((line for line in lines if self.filter.lower() in name(line).lower()), key=name)
        match self.sort:
            case "due":
                found.sort(key=lambda line: -edge(line).due)
            case "in hand":
                found.sort(key=lambda line: -edge(line).in_hand)
            case "late":
                found.sort(key=lambda line: -(edge(line).oldest_due or 0.0))
        return found
