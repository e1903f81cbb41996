"""Starts processes for tests, forked from one that has already imported their modules: imports take longer than the
tests."""

import multiprocessing
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess

from pgsched.api.server import serve
from pgsched.settings import Settings

CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(["pgsched.worker_process", "tests.processes"])

Process = ForkServerProcess


def _serve(settings: Settings, tell: Connection) -> None:
    serve(settings, listening=tell.send)


@contextmanager
def serving_alone(settings: Settings) -> Iterator[tuple[str, Process]]:
    """Yields the URL and the process of an API in its own process, started as the command line does."""
    heard, tell = CONTEXT.Pipe(duplex=False)
    process = CONTEXT.Process(target=_serve, args=(settings, tell))
    process.start()
    try:
        assert heard.poll(30)
        yield heard.recv(), process
    finally:
        process.kill()
        process.join()
        process.close()
        heard.close()
        tell.close()
