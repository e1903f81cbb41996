"""Worker processes that are killed and restarted."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from pgsched.bench.processes import CONTEXT


@dataclass(slots=True)
class Respawned:
    """Worker processes, each restarted when it has ended."""

    url: str
    work: Callable[[str], None]
    processes: list[Any] = field(default_factory=list)
    kills: int = 0

    def start(self, count: int) -> None:
        self.processes = [self._start() for _ in range(count)]

    def _start(self) -> Any:
        process = CONTEXT.Process(target=self.work, args=(self.url,), daemon=True)
        process.start()
        return process

    def living(self, place: int) -> Any:
        """Returns the process in this place, restarted if it ended by itself because no server was available at its
        start."""
        if not self.processes[place].is_alive():
            self.processes[place] = self._start()
        return self.processes[place]

    def kill(self, place: int) -> int:
        """Kills a process with SIGKILL and starts another in its place. Returns the pid of the killed one."""
        dead = self.living(place)
        dead.kill()
        dead.join()
        self.processes[place] = self._start()
        self.kills += 1
        return int(dead.pid)

    def stop(self) -> None:
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            process.join(20)
