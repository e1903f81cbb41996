"""Handlers of mallory that block a process shared with the first client, without ending it."""

from tests.adversary.attack import Means, attack
from tests.adversary.attacks.targets import call

_BRIEF = '{"timeout": "2s", "max_attempts": 2}'


@attack(seconds=12.0, recovers_within=60.0)
def handlers_that_block_the_loop_forever(means: Means) -> None:
    """There is one more handler than processes. After the timeout, each process ends itself and is replaced, and the
    handlers are called in isolation."""
    means.first_works_in_every_way()
    call(means, "python:mallory_waits", 3, _BRIEF)


@attack(seconds=8.0, recovers_within=60.0)
def handlers_that_cancel_all_tasks(means: Means) -> None:
    means.first_works_in_every_way()
    call(means, "python:mallory_cancels_all", 3, _BRIEF)


@attack(seconds=5.0)
def handlers_that_send_their_process_sigterm(means: Means) -> None:
    means.first_works_in_every_way()
    call(means, "python:mallory_signals", 4, '{"max_attempts": 3}')


@attack(seconds=1.5)
def handlers_that_stop_the_loop(means: Means) -> None:
    means.first_works_in_every_way()
    call(means, "python:mallory_stops_the_loop", 20)


@attack(seconds=5.0)
def two_hundred_handlers_that_cancel_themselves(means: Means) -> None:
    means.first_works_in_every_way()
    call(means, "python:mallory_cancels_itself", 200)


@attack(seconds=15.0, recovers_within=60.0)
def handlers_that_end_two_processes_and_then_hang(means: Means) -> None:
    """Other executions in flight are called in isolation, too, and do not wait behind these handlers."""
    means.first_works_in_every_way()
    call(means, "python:mallory_hangs_isolated", 3, '{"timeout": "10m"}')
