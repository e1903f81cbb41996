"""Many API calls through PgBouncer in transaction mode, each checked by identity.

    python -m tests.poolers.concurrent --calls 10000 --version 1.24

Starts PostgreSQL, PgBouncer and two API processes, lets eight clients call concurrently, and compares the database with
what each call asked for. Exits with 1 if they differ, or if the calls took longer than ``--seconds``.
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import AsyncExitStack, ExitStack, contextmanager
from pathlib import Path

import httpx
import psycopg

from pgsched.embedded import EmbeddedPostgres
from pgsched.store.admin.migrate import migrate
from tests.poolers.calls import CLIENTS, Asked, call_at_once
from tests.poolers.pgbouncer import VERSIONS, pgbouncer

_PROCESSES = 2


@contextmanager
def _api(url: str, place: str) -> Iterator[str]:
    """Run an API process. Yields its URL."""
    words = [sys.executable, "-m", "pgsched.cli.main", "api", "--port", "0", "--json"]
    environment = os.environ | {"PGSCHED_DATABASE_URL": url, "PYTHONPATH": str(Path.cwd())}
    with subprocess.Popen(words, stdout=subprocess.PIPE, env=environment, cwd=place, text=True) as process:
        try:
            assert process.stdout is not None
            yield json.loads(process.stdout.readline())["url"]
        finally:
            process.terminate()


async def _call(addresses: list[str], calls: int) -> Asked:
    async with AsyncExitStack() as stack:
        clients = [
            httpx.AsyncClient(base_url=address, timeout=30, headers={"X-Requested-With": "tests"})
            for address in addresses
        ]
        return await call_at_once([await stack.enter_async_context(client) for client in clients], calls)


def main() -> int:
    """Run the check. Returns the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--calls", type=int, default=10_000)
    parser.add_argument("--version", choices=VERSIONS, default=VERSIONS[-1])
    parser.add_argument("--seconds", type=float, default=120.0)
    given = parser.parse_args()
    with ExitStack() as stack:
        place = stack.enter_context(tempfile.TemporaryDirectory())
        server = stack.enter_context(EmbeddedPostgres(Path(place) / "postgres"))
        migrate(server.url)
        pooler = stack.enter_context(pgbouncer(server.url, "transaction", version=given.version))
        addresses = [stack.enter_context(_api(pooler.through(server.url), place)) for _ in range(_PROCESSES)]
        began = time.monotonic()
        asked = asyncio.run(_call(addresses, given.calls))
        took = time.monotonic() - began
        with psycopg.connect(server.url) as db:
            differences = asked.differences(db)
    print("\n".join(differences[:20]))  # noqa: T201
    print(  # noqa: T201
        f"PgBouncer {given.version}, transaction mode: {asked.calls} calls by {CLIENTS} clients in {took:.1f} s, "
        f"{len(asked.jobs)} jobs, {sum(asked.logged.values())} changes with a note: {len(differences)} differences"
    )
    return int(bool(differences) or took > given.seconds)


if __name__ == "__main__":
    sys.exit(main())
