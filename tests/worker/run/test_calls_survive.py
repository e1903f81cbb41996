"""Exactly once: workers are killed and the server restarts and crashes at random, and each function commits once."""

import logging
import os
import random
import signal
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import psycopg

from pgsched.embedded import EmbeddedPostgres
from pgsched.settings import Settings
from pgsched.store.admin.migrate import migrate
from pgsched.worker_process import run_worker
from tests.processes import CONTEXT
from tests.worker.call_arrange import LOGIN, make_client

COUNT, WORKERS = 900, 2
_TIRELESS = '{"max_attempts": 1000, "backoff": {"initial": "20ms", "maximum": "200ms"}}'
_SLOW = """
set role billing;
create function billing.act(payload jsonb) returns void language plpgsql as $$
begin
  insert into billing.settled values (current_setting('pgsched.execution_id'), (payload ->> 'n')::integer);
  perform pg_sleep(0.02);  -- so that kills hit many calls midway
end $$;
reset role
"""
_SCHEDULE = """
insert into pgsched.executions (target, payload, fire_at, client_id, options)
select 'sql:billing.act', jsonb_build_object('n', n), now(), 'shop', %s::jsonb from generate_series(1, %s) n
"""


def _work(url: str) -> None:
    logging.getLogger("psycopg").setLevel(logging.ERROR)
    run_worker(Settings(database_url=url, lease=2.0, concurrency=50, drain_timeout=5, sql_login=LOGIN))


def _start(url: str) -> Any:
    process = CONTEXT.Process(target=_work, args=(url,), daemon=True)
    process.start()
    return process


def test_each_execution_takes_effect_once_despite_kills_and_crashes(tmp_path: Path) -> None:
    rng = random.Random(7)
    with EmbeddedPostgres(tmp_path / "postgres") as server:
        migrate(server.url)
        make_client(server.url)
        with psycopg.connect(server.url, autocommit=True) as connection:
            connection.execute(_SLOW.encode())
            connection.execute(_SCHEDULE.encode(), [_TIRELESS, COUNT])
        workers = [_start(server.url) for _ in range(WORKERS)]
        try:
            kills, restarts = _ordeal(server, workers, rng)
        finally:
            for worker in workers:
                worker.terminate()
            for worker in workers:
                worker.join(20)
        assert kills >= 4
        assert restarts >= 2
        with psycopg.connect(server.url, autocommit=True) as connection:
            rows = connection.execute("select id, n from billing.settled").fetchall()
            ended = connection.execute("select id::text, status::text from pgsched.history").fetchall()
            lost = connection.execute("select count(*) from pgsched.attempts").fetchone()
    assert sorted(n for _, n in rows) == list(range(1, COUNT + 1))
    assert sorted(ended) == sorted((id, "succeeded") for id, _ in rows)
    assert lost is not None
    assert lost[0] > 0  # some calls were hit midway


def _ordeal(server: EmbeddedPostgres, workers: list[Any], rng: random.Random) -> tuple[int, int]:
    """Kill workers and restart the server until nothing is left to do. Returns the number of kills and restarts."""
    kills = restarts = 0
    deadline = time.monotonic() + 120
    while _left(server.url):
        assert time.monotonic() < deadline, "executions are left after two minutes"
        time.sleep(rng.uniform(0.1, 0.4))
        calling = _calling(server.url)
        victims = [worker for worker in workers if worker.pid in calling]
        if kills < 5 and victims:
            kills += 1
            _replace(workers, rng.choice(victims), server.url)
            if kills % 2 == 0 and restarts < 2:
                restarts += 1
                _crash(server.url) if restarts == 2 else server.restart()
        for worker in list(workers):
            if not worker.is_alive():  # it found no server when it started
                _replace(workers, worker, server.url)
    return kills, restarts


def _replace(workers: list[Any], worker: Any, url: str) -> None:
    worker.kill()
    worker.join()
    workers[workers.index(worker)] = _start(url)


def _calling(url: str) -> set[int]:
    """The processes with executions in hand while functions run."""
    query = """
    select distinct split_part(w.name, ':', 2)::integer from pgsched.executions e
      join pgsched.workers w on w.id = e.lease_owner
     where exists (select from pg_stat_activity where usename = 'billing' and state = 'active')"""
    try:
        with psycopg.connect(url, autocommit=True) as connection:
            return {row[0] for row in connection.execute(query)}
    except psycopg.OperationalError:  # the server is recovering
        return set()


def _crash(url: str) -> None:
    """Kill a backend in a call: the server ends all others and recovers from its log."""
    with psycopg.connect(url, autocommit=True) as connection:
        row = connection.execute(
            "select pid from pg_stat_activity where usename = 'billing' order by state limit 1"
        ).fetchone()
    if row:
        with suppress(ProcessLookupError):
            os.kill(row[0], signal.SIGKILL)


def _left(url: str) -> int:
    try:
        connection = psycopg.connect(url, autocommit=True)
    except psycopg.OperationalError:  # the server is recovering
        return 1
    with connection:
        row = connection.execute("select count(*) from pgsched.executions").fetchone()
        return int(row[0]) if row else 0
