"""An attempt that is kept waiting for others' sake is given that time."""

import pytest

from pgsched.delivery.accounts import Accounts
from pgsched.events import Events
from pgsched.worker.run.lane import Lane
from pgsched.worker.run.shares import Shares
from pgsched.worker.run.watch import AttemptWatch
from tests.delivery.receiver import execution


@pytest.fixture
def lane() -> Lane:
    """Of an attempt of ten seconds that began at 0."""
    made = Lane()
    made.execution, made.started, made.expires = execution("python:x", client_id="mallory"), 0.0, 10.0
    return made


@pytest.fixture
def accounts() -> Accounts:
    return Accounts()


@pytest.fixture
def watch(accounts: Accounts) -> AttemptWatch:
    shares = Shares(lanes=1, is_wanted=lambda: True, relieved=lambda: None)
    return AttemptWatch(Events(), shares, accounts=accounts)


async def test_it_has_as_much_longer_as_its_client_s_steps_wait_for_their_turns(
    watch: AttemptWatch, lane: Lane, accounts: Accounts
) -> None:
    account = accounts.of("mallory")
    accounts.charge(account, 5.0)
    accounts.queue(account)
    watch.look_at([lane], 5.0, passed=3.0)
    assert lane.expires == 13.0
    for _ in range(9):
        watch.look_at([lane], 5.0, passed=3.0)
    assert lane.expires == 20.0


async def test_it_has_no_longer_where_none_of_them_waits(watch: AttemptWatch, lane: Lane, accounts: Accounts) -> None:
    accounts.charge(accounts.of("mallory"), 5.0)
    watch.look_at([lane], 5.0, passed=3.0)
    assert lane.expires == 10.0
