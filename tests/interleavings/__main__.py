"""Goes through the scenes that are named, or all, on a server of its own, and tells how many states each has."""

import asyncio
import sys
import tempfile
from pathlib import Path

from pgsched.embedded import EmbeddedPostgres
from pgsched.store.admin.migrate import migrate
from tests.interleavings.playing import PLAYS, play

QUICK = {"fsync": "off", "full_page_writes": "off"}


def main(names: list[str]) -> int:
    """The exit status: 1 where an order goes wrong, 2 for an unknown name."""
    if unknown := [name for name in names if name not in PLAYS]:
        print(f"there is no scene {unknown[0]!r}; there are: {', '.join(PLAYS)}", file=sys.stderr)  # noqa: T201
        return 2
    with tempfile.TemporaryDirectory() as place, EmbeddedPostgres(Path(place, "postgres"), settings=QUICK) as server:
        migrate(server.url)
        return max([told(server.url, name) for name in names or PLAYS])


def told(url: str, name: str) -> int:
    """Goes through a scene and prints what it found; 1 where an order goes wrong."""
    try:
        found = asyncio.run(play(url, name))
    except AssertionError as wrong:
        print(f"{name}: WRONG {wrong}")  # noqa: T201
        return 1
    print(f"{name}: {found.states} states, reached in {found.ways} ways", flush=True)  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
