"""How many rows to have in hand, judged by how long attempts have taken lately."""

WEIGHT = 0.02
"""How much one attempt counts in what is typical."""
_QUICKEST = 1e-5
_MOST_WAITING = 4_000


class AttemptPace:
    """``typical`` is how many seconds an attempt takes; the last ones count most."""

    def __init__(self, *, concurrency: int, ahead: float) -> None:
        self._concurrency, self._ahead = concurrency, ahead
        self.typical = ahead

    @property
    def capacity(self) -> int:
        """As many rows as there are lanes, and what those can finish within the look-ahead.

        Quick handlers need more rows than lanes, or a lane would wait for each claim and each settle; slow ones no
        more, or their rows would wait here while another worker has lanes to spare.
        """
        finished = int(self._concurrency * self._ahead / max(self.typical, _QUICKEST))
        return self._concurrency + min(finished, _MOST_WAITING)

    def observe_running(self, seconds: float) -> None:
        """So long in all the attempts that are under way have taken up to now."""
        self.typical = max(self.typical, seconds / self._concurrency)
