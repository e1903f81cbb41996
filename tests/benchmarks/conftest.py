"""Benchmarks on the tests' server find their database migrated: to migrate takes longer than much that they measure."""

import pytest

from pgsched.bench import database
from tests.databases import Janitor


@pytest.fixture(autouse=True)
def _copied(janitor: Janitor, template: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that make a server of their own migrate as they do for everybody."""
    make = database.make

    def copy(url: str, own: str) -> None:
        if url != janitor.url:
            make(url, own)
        else:
            janitor.make(own.rpartition("/")[2].partition("?")[0], template=template).init()

    monkeypatch.setattr(database, "make", copy)
