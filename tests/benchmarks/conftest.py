"""Gives benchmarks on the tests' server a migrated database: migrating takes longer than much of what they measure."""

import pytest

from pgsched.bench import database
from tests.databases import Janitor


@pytest.fixture(autouse=True)
def _copied(janitor: Janitor, template: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Copies the template on the tests' server. Benchmarks with their own server migrate as usual."""
    make = database.make

    def copy(url: str, own: str) -> None:
        if url != janitor.url:
            make(url, own)
        else:
            janitor.make(own.rpartition("/")[2].partition("?")[0], template=template).init()

    monkeypatch.setattr(database, "make", copy)
