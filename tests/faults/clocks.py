"""A PostgreSQL whose clock can be set while it runs, by libfaketime."""

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
export LD_PRELOAD='{place}/libfaketime.so' FAKETIME_TIMESTAMP_FILE='{place}/offset'
export FAKETIME_NO_CACHE=1 FAKETIME_DONT_FAKE_MONOTONIC=1 FAKETIME_DISABLE_SHM=1
exec '{program}' "$@"
"""


class Clock:
    """``bin_dir`` has programs that begin with the machine's time; ``step`` sets the clock of those that run."""

    def __init__(self, place: Path) -> None:
        self._place, self.bin_dir = place, place / "bin"
        place.chmod(0o755)  # the server's account reads it
        self.bin_dir.mkdir()
        shutil.copy(debian_library("libfaketime", "0.9"), place / "libfaketime.so")
        self.step(0)
        programs = runnable(tested_bin_dir(), account_for(place / "none"))
        for name in ("postgres", "initdb"):
            (self.bin_dir / name).write_text(_WRAPPED.format(place=place, program=programs / name))
            (self.bin_dir / name).chmod(0o755)

    def step(self, seconds: int) -> None:
        """The server's clock is so many seconds ahead of the machine's from now on."""
        new = self._place / "new"
        new.write_text(f"{seconds:+d}\n")
        new.replace(self._place / "offset")


@contextmanager
def clock() -> Iterator[Clock]:
    """A clock that a server may be started with."""
    with tempfile.TemporaryDirectory(prefix="pgsched-clock-") as place:
        yield Clock(Path(place))
