"""Faults of the clocks of the server and the workers."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psycopg

from pgsched.store.admin.archive import DAILY
from tests.faults.clocks import Clock
from tests.faults.fault import CLOCK, EVENING, WATCHES, fault
from tests.faults.site import Connection, Site

_HOUR = 3600
_NOW = "select extract(epoch from clock_timestamp())::float8"
_TOMORROW = """
select to_char(today + interval '1 day', 'YYYYMMDD'), extract(epoch from today + interval '1 day' - now)::float8
  from (select clock_timestamp() at time zone 'UTC') c(now), date_trunc('day', now) d(today)"""
_ADOPT = "select pgsched_internal.adopt_strays(%s)"
_NAMES_THE_TIME = "import time; print(time.time())"


def _now(db: Connection) -> float:
    [(now,)] = db.execute(_NOW).fetchall()
    return float(now)


def _stepped(site: Site, seconds: int) -> Iterator[None]:
    assert site.clock is not None
    with site.owner() as db:
        before = _now(db)
        site.clock.step(seconds)
        assert abs(_now(db) - before - seconds) < 30, "the server's clock was not set"
    yield
    if seconds < 0:  # executions scheduled before wait for their instant
        site.clock.step(0)


@fault(seconds=15, keeps_order=False, needs=CLOCK)
def clock_forward(site: Site) -> Iterator[None]:
    """Steps one hour, permanently."""
    yield from _stepped(site, _HOUR)


@fault(seconds=15, keeps_order=False, needs=CLOCK)
def clock_back(site: Site) -> Iterator[None]:
    """Steps back one hour, then forward again."""
    yield from _stepped(site, -_HOUR)


def _over_midnight(site: Site, *, without: tuple[str, ...]) -> Iterator[None]:
    """Sets the server's clock to shortly before midnight; these tables have no partition for the next day."""
    assert site.clock is not None
    with site.owner() as db:
        [(day, left)] = db.execute(_TOMORROW).fetchall()
        assert left < 1000, "the start took too long"
        for parent in without:
            db.execute(f"drop table pgsched_internal.{parent}_{day}".encode())
        site.clock.step(site.clock.seconds + int(left) - 3)
        yield
        home = f"history_{'default' if 'history' in without else day}"
        assert db.execute(f"select from pgsched_internal.{home} limit 1".encode()).rowcount, f"nothing is in {home}"


@fault(seconds=12, keeps_order=False, needs=EVENING)
def midnight(site: Site) -> Iterator[None]:
    yield from _over_midnight(site, without=())


@fault(seconds=12, keeps_order=False, needs=EVENING)
def midnight_without_a_partition(site: Site) -> Iterator[None]:
    """History, attempts and rollups of the new day go to the default partitions, which become that day's tables while
    the load continues. Each session that takes a step is killed before it commits, and the next one repeats it."""
    yield from _over_midnight(site, without=DAILY)
    with site.owner() as db:
        for parent in DAILY:
            _adopt(site, db, parent)
        [(left,)] = db.execute("select count(*) from pgsched_internal.history_default").fetchall()
        assert left == 0, f"{left} rows are in no day"


def _adopt(site: Site, db: Connection, parent: str) -> None:
    until, step = time.monotonic() + 30, "going on"
    while step not in ("adopted", "none"):
        assert step != "apart", f"the default partition of {parent} cannot become a day's"
        assert time.monotonic() < until, f"the default partition of {parent} has not become a day's yet: {step}"
        with suppress(psycopg.OperationalError), site.owner() as killed, killed.transaction():
            killed.execute(_ADOPT, [parent])
            db.execute("select pg_terminate_backend(%s, 5000)", [killed.info.backend_pid])
        [(step,)] = db.execute(_ADOPT, [parent]).fetchall()


def _set(site: Site, *seconds: int) -> None:
    """Sets the clock of each worker command, and asserts that its processes use it."""
    for number, (clock, ahead) in enumerate(zip(site.watches, seconds, strict=True)):
        clock.step(ahead)
        assert abs(_told_by(clock) - time.time() - ahead) < 30, "the clock was not set"
        assert "libfaketime" in Path(f"/proc/{site.worker(number)}/maps").read_text()


def _told_by(clock: Clock) -> float:
    words, environment = [sys.executable, "-c", _NAMES_THE_TIME], os.environ | clock.environment
    return float(subprocess.run(words, env=environment, capture_output=True, check=True).stdout)


@fault(seconds=6, needs=WATCHES)
def workers_clocks_step(site: Site) -> Iterator[None]:
    """One worker's clock is an hour ahead and the other's an hour behind, then the other way round, then both are
    correct."""
    _set(site, _HOUR, -_HOUR)
    yield
    _set(site, -_HOUR, _HOUR)
    time.sleep(6)
    _set(site, 0, 0)
