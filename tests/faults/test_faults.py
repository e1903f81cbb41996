"""Causes a few faults one after another under a small load. ``make soak`` causes every fault, for longer."""

from collections.abc import Iterator

import pytest

from tests.faults import of_the_network, of_the_server, of_workers
from tests.faults.fault import FAULTS, PROXY, endure
from tests.faults.servers import place_for
from tests.faults.site import Site

__all__ = ["of_the_network", "of_the_server", "of_workers"]

_MADE = (
    "worker-killed", "worker-out-of-memory", "sessions-terminated", "writer-commits-late", "network-cut",
    "receivers-misbehave", "postgresql-killed",
)  # fmt: skip


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    network = next(fault for fault in FAULTS.values() if fault.needs == PROXY)
    with place_for(network, tmp_path_factory.mktemp("faults"), rate=40) as built:
        yield built


@pytest.mark.parametrize("name", _MADE)
def test_a_fault_loses_no_execution_and_causes_no_needless_repeat(site: Site, name: str) -> None:
    fault = FAULTS[name]
    verdict = endure(site, fault, seconds=min(fault.seconds, 2.0), before=0.5, after=3.0)
    assert verdict.broken == {}, site.programs.log()
    assert verdict.acknowledged > 100
