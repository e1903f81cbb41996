"""Explains which extra installs a missing library, as in ``pip install 'pgsched[server]'``."""

from collections.abc import Iterator
from contextlib import contextmanager

from pgsched.errors import InvalidSettings


@contextmanager
def extra(name: str, by: str) -> Iterator[None]:
    """Raises InvalidSettings, with what to install, if the block imports a missing library.

        with extra("tracing", by="tracing"):
            from pgsched.spans import Spans

    If a module of pgsched itself is missing, which is a bug, the ImportError is raised unchanged.
    """
    try:
        yield
    except ImportError as error:
        if (error.name or "").partition(".")[0] == "pgsched":
            raise
        raise InvalidSettings(missing(name, by)) from error


def missing(name: str, by: str) -> str:
    """Returns a message that says which extra to install."""
    return f"{by} needs an extra: pip install 'pgsched[{name}]'"
