"""Workers, what they serve, and what they can deliver."""

from types import SimpleNamespace

from pgsched.store.admin.installation_settings import get_installation
from pgsched.store.admin.workers import RegisteredWorker, watch
from pgsched.store.doctor.finding import CheckContext, Finding, counted, error, note, seconds_in, warning
from pgsched.store.lookup import overview
from pgsched.version import __version__


async def workers(ground: CheckContext) -> list[Finding]:
    """Workers that are lost, drained, or frozen: still there, and silent for longer than they may be."""
    bounds = ground.bounds
    found = [fault for worker in await watch(ground.connection) if (fault := _fault_of(worker))]
    silent = await ground.rows("doctor/unregistered", seconds=bounds.silent, most=bounds.most)
    return found + [_frozen_for_long(one, bounds.silent) for one in silent]


def _frozen_for_long(one: SimpleNamespace, seconds: float) -> Finding:
    return warning(
        f"a process of a worker that was declared lost is still there, on {one.address}, logged in as {one.login}, "
        f"and has said nothing for {seconds_in(seconds)}",
        why="Others have taken back what it had in hand; it delivers nothing, and holds its connections.",
        do="Look at that process: is it stopped, starved of CPU, or does a handler block its event loop? Restart it.",
    )


def _fault_of(worker: RegisteredWorker) -> Finding | None:
    silent = seconds_in(worker.now - worker.expires_at)
    if worker.expires_at > worker.now and not (worker.lost or worker.gone):
        return _drained(worker) if worker.draining else None
    if worker.lost or worker.gone:
        return warning(
            f"worker {worker.id} is lost: it has no session here any more, and has not handed back what it had in hand",
            why="What it had in hand is delivered again, once another worker of its queues has taken it back. Either "
            "its process has ended, or it runs and cannot log in.",
            do="Read its log: a process that runs says why it has lost the database. If it has ended, start a worker "
            "of the same queues (pgsched worker).",
        )
    return error(
        f"worker {worker.id} is frozen: its sessions are there, and it has been due to say that it lives for {silent}",
        why="It may have stopped in the middle of what it has in hand; others take that back, and it may run twice.",
        do="Look at that process: is it stopped, starved of CPU, or does a handler block its event loop? Restart it.",
    )


def _drained(worker: RegisteredWorker) -> Finding:
    return note(
        f"worker {worker.id} drains: it begins nothing more, because somebody said so",
        why="What is due is left to the other workers of its queues.",
        do=f"Stop its process once it has nothing in hand, or pgsched workers resume {worker.id}.",
    )


async def recovery(ground: CheckContext) -> list[Finding]:
    """Whether the installation is held for recovery."""
    state = await get_installation(ground.connection)
    if state.held_since is None:
        return []
    return [
        error(
            f"the installation is held for recovery since {state.held_since:%Y-%m-%d %H:%M:%SZ}: {state.reason}",
            why="Nothing begins in any queue, so that a restored or copied database does not call what has been "
            "called already, or what the original still calls.",
            do="Look at what would fire: pgsched admin recover, or GET /v1/recovery. Decide how it goes on: pgsched "
            "admin recover --release, or POST /v1/recovery/resume; docs/how-to/backup-and-restore.md.",
        )
    ]


async def releases(ground: CheckContext) -> list[Finding]:
    """Workers of different releases, or of another one than this."""
    found = sorted({worker.release for worker in await overview.living_workers(ground.connection)})
    if len(found) > 1:
        return [
            warning(
                f"workers of {len(found)} releases run: {', '.join(found)}",
                why="That is as it should be while releases are replaced, and no longer.",
                do="Replace the workers of the older release.",
            )
        ]
    if found and found != [__version__]:
        return [
            note(
                f"workers are of release {found[0]}, and this command is of {__version__}",
                why="What this command finds may not be what that release means.",
                do=f"Run the doctor of release {found[0]}.",
            )
        ]
    return []


async def queues(ground: CheckContext) -> list[Finding]:
    """Queues that nobody serves, or that are paused."""
    late = {one.queue: one.seconds for one in await overview.late_queues(ground.connection)}
    found = [
        _stall(queue, late.get(queue.name))
        for queue in await overview.queue_states(ground.connection)
        if queue.stall and "held for recovery" not in queue.stall
    ]
    return found[: ground.bounds.most]


def _stall(queue: overview.QueueState, late: float | None) -> Finding:
    waits = f"; its oldest execution has been due for {seconds_in(late)}" if late else "; nothing is due in it"
    if queue.paused:
        return note(
            f"the queue {queue.name} is paused{waits}",
            why="Nothing of it begins until it is resumed.",
            do=f"pgsched queues resume {queue.name}, once the reason for the pause is gone.",
        )
    say = error if late else warning
    return say(
        f"no living worker serves the queue {queue.name}{waits}",
        why="What is due in it is not delivered.",
        do=f"Start a worker with pgsched worker --queues {queue.name}.",
    )


async def handlers(ground: CheckContext) -> list[Finding]:
    """Handlers and kinds of targets that executions wait for, and no living worker has."""
    return [
        error(
            f"no living worker has {one.needs}, for which {counted(one.held, 'execution')} wait",
            why="They are held, without counting an attempt, until a worker comes that can deliver them.",
            do="Start a worker whose application registers that handler, or, for a kind of target, has its settings. "
            "If the name is wrong, mend it where they are scheduled, and edit what waits.",
        )
        for one in await overview.undeliverable(ground.connection)
        if not one.workers
    ]
