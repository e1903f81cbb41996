"""Programs whose clock can be set at run time, with libfaketime: PostgreSQL, and any program given ``environment``."""

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
    """A clock that starts with the machine's time. ``bin_dir`` has a server's programs that use it; ``step`` sets it
    for running programs. ``seconds`` is how far it is ahead of the machine's clock."""

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
        """The environment that makes a program use this clock. It still measures durations with the machine's clock."""
        return {
            "LD_PRELOAD": f"{self._place}/libfaketime.so",
            "FAKETIME_TIMESTAMP_FILE": f"{self._place}/offset",
            "FAKETIME_NO_CACHE" if self._at_once else "FAKETIME_CACHE_DURATION": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            "FAKETIME_DISABLE_SHM": "1",
        }

    def step(self, seconds: int) -> None:
        """Sets the clock ``seconds`` ahead of the machine's."""
        self.seconds = seconds
        new = self._place / "new"
        new.write_text(f"{seconds:+d}\n")
        new.replace(self._place / "offset")


@contextmanager
def clock(*, at_once: bool = True) -> Iterator[Clock]:
    """A clock for programs started with it. They see a change ``at_once``, which makes them read a file for each query
    of the time, or else within a second."""
    with tempfile.TemporaryDirectory(prefix="pgsched-clock-") as place:
        yield Clock(Path(place), at_once=at_once)
