"""Programs whose clock can be set while they run, by libfaketime: PostgreSQL, and whatever is given ``environment``."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pgsched.embedded.account import account_for
from pgsched.embedded.binaries import runnable
from tests.conftest import tested_bin_dir
from tests.programs.debian import debian_library

_WRAPPED = """#!/bin/sh
export {settings}
exec '{program}' "$@"
"""


class Clock:
    """``bin_dir`` has a server's programs that go by it. It begins with the machine's time; ``step`` sets the clock of
    those that run. ``seconds`` is by how much it is ahead of the machine's."""

    def __init__(self, place: Path, *, at_once: bool) -> None:
        self._place, self._at_once, self.bin_dir, self.seconds = place, at_once, place / "bin", 0
        place.chmod(0o755)  # the server's account reads it
        self.bin_dir.mkdir()
        shutil.copy(debian_library("libfaketime", "0.9"), place / "libfaketime.so")
        self.step(0)
        settings = " ".join(f"{name}='{value}'" for name, value in self.environment.items())
        programs = runnable(tested_bin_dir(), account_for(place / "none"))
        for name in ("postgres", "initdb"):
            (self.bin_dir / name).write_text(_WRAPPED.format(settings=settings, program=programs / name))
            (self.bin_dir / name).chmod(0o755)

    @property
    def environment(self) -> dict[str, str]:
        """What has a program go by this clock. Durations it measures are the machine's."""
        return {
            "LD_PRELOAD": f"{self._place}/libfaketime.so",
            "FAKETIME_TIMESTAMP_FILE": f"{self._place}/offset",
            "FAKETIME_NO_CACHE" if self._at_once else "FAKETIME_CACHE_DURATION": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            "FAKETIME_DISABLE_SHM": "1",
        }

    def step(self, seconds: int) -> None:
        """The clock is so many seconds ahead of the machine's from now on."""
        self.seconds = seconds
        new = self._place / "new"
        new.write_text(f"{seconds:+d}\n")
        new.replace(self._place / "offset")


@contextmanager
def clock(*, at_once: bool = True) -> Iterator[Clock]:
    """A clock that programs may be started with. They see it set ``at_once``, for which they read a file each time they
    ask for the time, or within a second."""
    with tempfile.TemporaryDirectory(prefix="pgsched-clock-") as place:
        yield Clock(Path(place), at_once=at_once)
