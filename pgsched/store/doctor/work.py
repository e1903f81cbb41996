"""Checks that work is being done: lateness, objectives, planning, bulk operations, days ahead, secrets."""

from pgsched.store import internal_verbs
from pgsched.store.core.query import first, value
from pgsched.store.doctor.finding import CheckContext, Finding, counted, error, note, seconds_in, warning
from pgsched.store.lookup import overview, throughput
from pgsched.store.lookup.overview import days_ahead

_MORE_CONSUMERS = "Its consumers are not running or cannot keep up: start more of them."
_MORE_WORKERS = (
    "Start more workers or processes, or raise --concurrency; pgsched executions why shows what an execution waits for."
)


async def late(ground: CheckContext) -> list[Finding]:
    """Finds queues whose oldest due execution is late although a worker serves the queue."""
    there = {queue.name: queue for queue in await overview.queue_states(ground.connection)}
    found = []
    for one in await overview.late_queues(ground.connection):
        queue = there.get(one.queue)
        if queue is None or queue.stall or one.seconds < ground.bounds.late:
            continue
        say = error if one.seconds >= ground.bounds.very_late else warning
        found.append(
            say(
                f"the oldest due execution of the queue {one.queue} is {seconds_in(one.seconds)} late",
                why="Executions become due faster than they are delivered, or another session has locked the rows.",
                do=_MORE_CONSUMERS if queue.pulled else _MORE_WORKERS,
            )
        )
    return found[: ground.bounds.most]


async def objectives(ground: CheckContext) -> list[Finding]:
    """Finds clients whose objective was missed in the last hour, unless they had only a few attempts."""
    missed = [
        one
        for one in await throughput.objectives(ground.connection)
        if one.attempts >= ground.bounds.few_attempts and (one.burn or 0.0) > 1.0
    ]
    return [
        warning(
            f"{1 - (one.on_time or 0.0):.2%} of the attempts of the client {one.client} in the last hour started "
            f"more than {one.late_after.total_seconds():g} s late; its objective allows {1 - one.on_time_share:.2%}",
            why="The objective sets how late attempts may start, and the share of attempts that may start later.",
            do=_MORE_WORKERS,
        )
        for one in missed[: ground.bounds.most]
    ]


async def jobs(ground: CheckContext) -> list[Finding]:
    """Finds jobs that wait to be planned, and jobs that cannot be planned."""
    bounds = ground.bounds
    unplanned, invalid = await first(
        ground.connection, "doctor/unplanned_jobs", seconds=bounds.unplanned, most=1000
    ) or (0, 0)
    found = []
    if unplanned:
        found.append(
            error(
                f"{_up_to(unplanned)} not been planned for longer than {seconds_in(bounds.unplanned)}",
                why="These jobs have no next execution yet, so they do not run.",
                do="Make sure that a worker of any queue is running, and check its log for a service.failed event "
                "of its planner.",
            )
        )
    if invalid:
        found.append(
            warning(
                f"{_up_to(invalid)} become invalid",
                why="Their schedules are no longer valid (for example, because a time zone was removed), so they do "
                "not run.",
                do="List them with pgsched jobs list --state invalid; fix each with pgsched jobs edit, or cancel it.",
            )
        )
    return found


def _up_to(count: int) -> str:
    return "1,000 jobs or more have" if count >= 1000 else f"{counted(count, 'job')} {'has' if count == 1 else 'have'}"


async def changes(ground: CheckContext) -> list[Finding]:
    """Finds bulk operations that make no progress."""
    bounds = ground.bounds
    found = await ground.rows("doctor/stalled_bulk_operations", seconds=bounds.stands_still, most=bounds.most)
    return [
        warning(
            f"the bulk {one.action} {one.id} is making no progress"
            + (f" ({one.reason})" if one.reason else f"; the last progress was {seconds_in(one.seconds)} ago"),
            why="The operation is only partly done.",
            do="Make sure that a worker is running and check its log for a service.failed event, or stop the "
            f"operation with pgsched bulk stop {one.id}.",
        )
        for one in found
    ]


async def days(ground: CheckContext) -> list[Finding]:
    """Checks for how many days ahead history has partitions, whether any partitions were missing, and whether old ones
    remain.
    """
    found = []
    ahead, parent = await days_ahead(ground.connection)
    if ahead <= ground.bounds.days_ahead:
        found.append(
            warning(
                f"{parent} has partitions for {ahead} days, counting today; workers should have created 15",
                why="Executions that end on a day without a partition go to the default partition, whose rows are "
                "deleted one by one.",
                do="Make sure that a worker is running, and that no transaction that has read history stays open "
                "for hours, because its locks prevent the creation of partitions.",
            )
        )
    if strays := await value(ground.connection, "doctor/strays"):
        found.append(
            warning(
                f"{strays} without a partition for their day",
                why="Creating each new day's partition scans the whole default partition under a lock, and rows in "
                "the default partition are deleted one by one.",
                do="Workers create partitions for these days within an hour; pgsched admin history adopt does so at "
                "once, or says what prevents it.",
            )
        )
    if overdue := await value(ground.connection, "doctor/days_overdue"):
        found.append(
            warning(
                f"{counted(overdue, 'day')} of history {'is' if overdue == 1 else 'are'} more than a week past the "
                "retention and not archived yet",
                why="The installation keeps each day until it is archived, so history grows.",
                do="Run pgsched admin history archive DIRECTORY each day, or pgsched admin installation set "
                "--no-archive-history.",
            )
        )
    return found


async def secrets(ground: CheckContext) -> list[Finding]:
    """Finds secrets that no key in secret_keys opens."""
    if not (found := await internal_verbs.sealed_with(ground.connection)):
        return []
    if ground.ring is None:
        return [
            note(
                f"there are secrets ({sum(kept for _, kept in found):,}), but no secret_keys are set here",
                why="Without the keys, this command cannot tell whether workers can open the secrets.",
                do="To check this, set PGSCHED_SECRET_KEYS for this command to the value that the API and the "
                "workers use.",
            )
        ]
    closed = sum(kept for head, kept in found if not ground.ring.has_key_of(head))
    if not closed:
        return []
    return [
        error(
            f"{counted(closed, 'secret')} cannot be opened: the key is not in secret_keys",
            why="Executions that need one of these secrets fail.",
            do="Add the former key to secret_keys, after the newest; pgsched admin secrets reseal names the first "
            "secret that it cannot open.",
        )
    ]
