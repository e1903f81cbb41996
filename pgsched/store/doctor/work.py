"""What is to be done, and whether it is: lateness, objectives, planning, long changes, the coming days, secrets."""

from pgsched.store import internal_verbs
from pgsched.store.core.query import first, value
from pgsched.store.doctor.finding import CheckContext, Finding, counted, error, note, seconds_in, warning
from pgsched.store.lookup import overview, throughput
from pgsched.store.lookup.overview import days_ahead

_MORE_CONSUMERS = "Its consumers do not come, or cannot keep up: start more of them."
_MORE_WORKERS = (
    "Start more workers or processes, or raise --concurrency; pgsched executions why tells what one of them waits for."
)


async def late(ground: CheckContext) -> list[Finding]:
    """Queues whose oldest due execution is late, though somebody serves them."""
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
                why="More is due there than is delivered, or somebody has those rows locked.",
                do=_MORE_CONSUMERS if queue.pulled else _MORE_WORKERS,
            )
        )
    return found[: ground.bounds.most]


async def objectives(ground: CheckContext) -> list[Finding]:
    """Clients whose objective the last hour has missed. A few late attempts of a handful are no miss."""
    missed = [
        one
        for one in await throughput.objectives(ground.connection)
        if one.attempts >= ground.bounds.few_attempts and (one.burn or 0.0) > 1.0
    ]
    return [
        warning(
            f"{1 - (one.on_time or 0.0):.2%} of the attempts of the client {one.client} in the last hour began more "
            f"than {one.late_after.total_seconds():g} s late; {1 - one.on_time_share:.2%} may",
            why="Its objective says how late its attempts may begin, and how many may be later.",
            do=_MORE_WORKERS,
        )
        for one in missed[: ground.bounds.most]
    ]


async def jobs(ground: CheckContext) -> list[Finding]:
    """Jobs that wait for a planner, and jobs that cannot be planned."""
    bounds = ground.bounds
    unplanned, invalid = await first(
        ground.connection, "doctor/unplanned_jobs", seconds=bounds.unplanned, most=1000
    ) or (0, 0)
    found = []
    if unplanned:
        found.append(
            error(
                f"{_up_to(unplanned)} not been planned for longer than {seconds_in(bounds.unplanned)}",
                why="They have no next execution yet, so they do not run.",
                do="See that a worker runs, of any queue, and look for service.failed of its planner in its log.",
            )
        )
    if invalid:
        found.append(
            warning(
                f"{_up_to(invalid)} become invalid",
                why="Their schedules can no longer be read, such as one in a time zone that is gone, so they do not "
                "run.",
                do="pgsched jobs list --state invalid shows them; mend each by pgsched jobs edit, or cancel it.",
            )
        )
    return found


def _up_to(count: int) -> str:
    return "1,000 jobs or more have" if count >= 1000 else f"{counted(count, 'job')} {'has' if count == 1 else 'have'}"


async def changes(ground: CheckContext) -> list[Finding]:
    """Bulk operations that are not carried on."""
    bounds = ground.bounds
    found = await ground.rows("doctor/standing_still", seconds=bounds.stands_still, most=bounds.most)
    return [
        warning(
            f"the bulk {one.action} {one.id} stands still"
            + (f": it {one.reason}" if one.reason else f" and was last carried on {seconds_in(one.seconds)} ago"),
            why="What was asked for is done in part.",
            do="See that a worker runs and look for service.failed in its log, or stop it by pgsched bulk stop "
            f"{one.id}.",
        )
        for one in found
    ]


async def days(ground: CheckContext) -> list[Finding]:
    """For how many days ahead history has its partitions, whether any were missing, and whether old ones are kept."""
    found = []
    ahead, parent = await days_ahead(ground.connection)
    if ahead <= ground.bounds.days_ahead:
        found.append(
            warning(
                f"{parent} has partitions for {ahead} days from today on, and workers make them for 15",
                why="What ends on a day without a partition goes to the default partition, from which it is deleted "
                "row by row.",
                do="See that a worker runs, and that no transaction which has read history has been open for hours: "
                "days are made when no such lock is held.",
            )
        )
    if strays := await value(ground.connection, "doctor/strays"):
        found.append(
            warning(
                f"{strays} without a table of their day",
                why="Each new day has the default partition read to its end under a lock, and what is in there is "
                "deleted row by row.",
                do="Workers make a table of these days within an hour; pgsched admin history adopt does it at once, "
                "and says what is in the way.",
            )
        )
    if overdue := await value(ground.connection, "doctor/days_overdue"):
        found.append(
            warning(
                f"{counted(overdue, 'day')} of history {'is' if overdue == 1 else 'are'} a week older than what is "
                "kept, and nobody has archived them",
                why="The installation drops no day before it was archived, so history grows.",
                do="Run pgsched admin history archive DIRECTORY each day, or pgsched admin installation set "
                "--no-archive-history.",
            )
        )
    return found


async def secrets(ground: CheckContext) -> list[Finding]:
    """Secrets that no key of secret_keys opens."""
    if not (found := await internal_verbs.sealed_with(ground.connection)):
        return []
    if ground.ring is None:
        return [
            note(
                f"secrets are kept ({sum(kept for _, kept in found):,}), and no secret_keys are set here",
                why="Whether workers can open them cannot be told without the keys.",
                do="Set PGSCHED_SECRET_KEYS for this command to what API and workers have, if you want that looked at.",
            )
        ]
    closed = sum(kept for head, kept in found if not ground.ring.has_key_of(head))
    if not closed:
        return []
    return [
        error(
            f"{counted(closed, 'secret')} cannot be opened: the key is not in secret_keys",
            why="Executions that need one of them fail.",
            do="Add the former key to secret_keys, behind the newest; pgsched admin secrets reseal names the first "
            "it cannot open.",
        )
    ]
