"""Plays the small scenes in every order. ``python -m tests.interleavings`` explores all scenes."""

import pytest

from pgsched.store.jobs.claimed_next_rows import NOTHING_PLANNED, Planned
from pgsched.store.live import executions
from pgsched.store.live.executions import Lease
from tests.interleavings import workers
from tests.interleavings.playing import SMALL, play


@pytest.mark.parametrize("name", SMALL)
async def test_no_interleaving_loses_a_row_or_ends_it_twice(database_url: str, name: str) -> None:
    assert (await play(name, database_url)).states > 30


async def test_the_checker_catches_a_worker_that_ignores_a_refused_result(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = workers.record

    async def believe(*given: object) -> bool:
        await record(*given)  # type: ignore[arg-type]
        return True

    monkeypatch.setattr(workers, "record", believe)
    with pytest.raises(AssertionError, match=r"after .*: (acknowledged|worker 1 ended a)"):
        await play("cancelled meanwhile", database_url)


async def test_the_checker_catches_a_worker_that_reuses_lease_tokens(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "Lease", lambda **given: Lease(**{**given, "token": 7}))
    with pytest.raises(AssertionError, match=r"after .*reaper.* which it did not hold"):
        await play("two workers and a reaper", database_url)


async def test_the_checker_catches_a_claim_that_leaves_a_job_without_a_row(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def plan_nothing(*_: object, **__: object) -> Planned:
        return NOTHING_PLANNED

    monkeypatch.setattr(executions, "plan_successors", plan_nothing)
    with pytest.raises(AssertionError, match="the job is active but has no row"):
        await play("a job that makes up for each instant", database_url)
