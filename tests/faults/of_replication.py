"""Faults of a primary and its standby."""

import os
import signal
import time
from collections.abc import Iterator

import psycopg

from tests.adversary.house import as_login
from tests.faults.fault import LAGGING_PAIR, PAIR, fault
from tests.faults.site import Site, signalled
from tests.faults.verdict import NOT_REPLICATED
from tests.replication.standby import Standby, processes_of

_ON_THE_WAY = 2.0
"""Seconds, on a busy machine, until the ends of arrived executions are recorded and replicated."""


@fault(seconds=20, needs=PAIR)
def standby_away(site: Site) -> Iterator[None]:
    """All commits wait for the standby."""
    assert site.standby is not None
    with signalled(processes_of(site.standby.pid), signal.SIGSTOP, signal.SIGCONT):
        yield


@fault(seconds=0, needs=PAIR)
def promotion(site: Site) -> Iterator[None]:
    """Kills the primary and promotes the standby."""
    assert site.standby is not None
    site.standby.take_over()
    yield


@fault(
    promised="what was not replicated is forgotten or repeated",
    seconds=0,
    repeats=NOT_REPLICATED,
    keeps_order=False,
    needs=LAGGING_PAIR,
)
def promotion_of_one_that_lags(site: Site) -> Iterator[None]:
    """The primary sends its standby nothing for two seconds, then is killed."""
    assert site.standby is not None
    with site.owner() as db:
        [(sender,)] = db.execute("select pid from pg_stat_replication").fetchall()
    since = time.time()
    os.kill(sender, signal.SIGSTOP)
    time.sleep(2)
    site.standby.take_over()
    site.unreplicated = since - _ON_THE_WAY, time.time()
    yield


def _lead_the_client(site: Site, standby: Standby) -> None:
    """Points the client's address to the new primary and ends its sessions with the old one. Whoever promotes must do
    this: an address with both hosts leads to the old primary as long as it accepts writes."""
    site.url = standby.url
    site.load.move(as_login(site.url, "faults_first"))
    with psycopg.connect(standby.primary_url, autocommit=True) as old:
        old.execute("select pg_terminate_backend(pid) from pg_stat_activity where usename = 'faults_first'")


@fault(seconds=10, needs=PAIR)
def primary_wakes_after_promotion(site: Site) -> Iterator[None]:
    """Freezes the primary, promotes the standby, then lets the primary continue."""
    assert site.standby is not None
    with signalled(processes_of(site.standby.primary.pid), signal.SIGSTOP, signal.SIGCONT):
        site.standby.promote()
        time.sleep(5)
    _lead_the_client(site, site.standby)
    yield
