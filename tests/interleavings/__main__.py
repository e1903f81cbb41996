"""Explores the named scenes, or all, on a dedicated server, and prints how many states each has.

A scene is played in several databases at once: playing an order is mostly waiting for answers, and two backends use two
cores.
"""

import asyncio
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from pgsched.embedded import EmbeddedPostgres
from pgsched.store.admin.migrate import migrate
from tests.databases import Janitor
from tests.interleavings.playing import PLAYS, play

QUICK = {"fsync": "off", "full_page_writes": "off"}
AT_ONCE = 3


def main(names: list[str]) -> int:
    """Returns the exit status: 1 if an order goes wrong, 2 for an unknown name."""
    if unknown := [name for name in names if name not in PLAYS]:
        print(f"there is no scene {unknown[0]!r}; there are: {', '.join(PLAYS)}", file=sys.stderr)  # noqa: T201
        return 2
    with tempfile.TemporaryDirectory() as place, EmbeddedPostgres(Path(place, "postgres"), settings=QUICK) as server:
        urls = made(Janitor(server.url))
        return max([told(urls, name) for name in names or PLAYS])


def made(janitor: Janitor) -> list[str]:
    """Creates the databases to play in. Returns their URLs."""
    names = [f"stage_{number}" for number in range(AT_ONCE)]
    for name in names:
        janitor.do("create database {}", name)
        migrate(janitor.url_of(name))
    janitor.close()
    return [*map(janitor.url_of, names)]


def told(urls: Sequence[str], name: str) -> int:
    """Explores a scene and prints the result. Returns 1 if an order goes wrong."""
    began = time.monotonic()
    try:
        found = asyncio.run(play(name, *urls))
    except AssertionError as wrong:
        print(f"{name}: WRONG {wrong}")  # noqa: T201
        return 1
    took = time.monotonic() - began
    print(f"{name}: {found.states} states, reached in {found.ways} ways, {took:.0f} s", flush=True)  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
