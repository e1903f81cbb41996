"""Checks workers, the queues that they serve, and the targets that they can call."""

from types import SimpleNamespace

from pgsched.store.admin.installation_settings import get_installation
from pgsched.store.admin.worker_registry import RegisteredWorker, watch
from pgsched.store.doctor.finding import CheckContext, Finding, counted, error, note, seconds_in, warning
from pgsched.store.lookup import overview
from pgsched.version import __version__


async def workers(ground: CheckContext) -> list[Finding]:
    """Finds workers that are lost, draining, or frozen: still connected, but silent for too long."""
    bounds = ground.bounds
    found = [fault for worker in await watch(ground.connection) if (fault := _fault_of(worker))]
    silent = await ground.rows("doctor/unregistered_workers", seconds=bounds.silent, most=bounds.most)
    return found + [_frozen_for_long(one, bounds.silent) for one in silent]


def _frozen_for_long(one: SimpleNamespace, seconds: float) -> Finding:
    return warning(
        f"a process of a worker that was declared lost is still connected from {one.address} as {one.login}, and "
        f"has been silent for {seconds_in(seconds)}",
        why="Other workers have taken over its executions; it delivers nothing, but keeps its connections.",
        do="Check whether the process is stopped or starved of CPU, or whether a handler blocks its event loop; "
        "then restart it.",
    )


def _fault_of(worker: RegisteredWorker) -> Finding | None:
    silent = seconds_in(worker.now - worker.expires_at)
    if worker.expires_at > worker.now and not (worker.lost or worker.gone):
        return _drained(worker) if worker.draining else None
    if worker.lost or worker.gone:
        return warning(
            f"worker {worker.id} is lost: it no longer has a session here, and has not released its executions",
            why="Its executions are delivered again once another worker that serves its queues has taken them over. "
            "Its process has either ended, or is running but cannot log in.",
            do="Read its log: a process that is still running logs why it lost the database. If the process has "
            "ended, start a worker "
            "for the same queues (pgsched worker).",
        )
    return error(
        f"worker {worker.id} is frozen: its sessions are open, but its heartbeat is overdue by {silent}",
        why="It may have stopped partway through some executions; other workers take those over, so they may run "
        "twice.",
        do="Check whether the process is stopped or starved of CPU, or whether a handler blocks its event loop; "
        "then restart it.",
    )


def _drained(worker: RegisteredWorker) -> Finding:
    return note(
        f"worker {worker.id} is draining: it starts no further executions",
        why="Due executions are left to the other workers that serve its queues.",
        do=f"Stop its process once nothing is running in it, or run pgsched workers resume {worker.id}.",
    )


async def recovery(ground: CheckContext) -> list[Finding]:
    """Checks whether the installation is held for recovery."""
    state = await get_installation(ground.connection)
    if state.held_since is None:
        return []
    return [
        error(
            f"the installation has been held for recovery since {state.held_since:%Y-%m-%d %H:%M:%SZ}: {state.reason}",
            why="No execution starts in any queue, so that a restored or copied database does not repeat calls that "
            "were already made, or that the original database still makes.",
            do="Run pgsched admin recover (or GET /v1/recovery) to see what would fire, then pgsched admin recover "
            "--release (or POST /v1/recovery/resume) to let the installation continue; see "
            "docs/how-to/backup-and-restore.md.",
        )
    ]


async def releases(ground: CheckContext) -> list[Finding]:
    """Checks for workers of different releases, or of a release other than this one."""
    found = sorted({worker.release for worker in await overview.living_workers(ground.connection)})
    if len(found) > 1:
        return [
            warning(
                f"workers of {len(found)} releases are running: {', '.join(found)}",
                why="This is fine during an upgrade, but not permanently.",
                do="Replace the workers of the older release.",
            )
        ]
    if found and found != [__version__]:
        return [
            note(
                f"the workers run release {found[0]}, but this command is release {__version__}",
                why="The findings of this command may not apply to that release.",
                do=f"Run the doctor of release {found[0]}.",
            )
        ]
    return []


async def queues(ground: CheckContext) -> list[Finding]:
    """Finds queues that no worker serves, or that are paused."""
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
            why="None of its executions start until the queue is resumed.",
            do=f"Run pgsched queues resume {queue.name} once the reason for the pause is gone.",
        )
    say = error if late else warning
    return say(
        f"no running worker serves the queue {queue.name}{waits}",
        why="Its due executions are not delivered.",
        do=f"Start a worker with pgsched worker --queues {queue.name}.",
    )


async def handlers(ground: CheckContext) -> list[Finding]:
    """Finds handlers and kinds of targets that executions wait for but no running worker has."""
    return [
        error(
            f"no running worker has {one.needs}, which {counted(one.held, 'execution')} "
            f"{'needs' if one.held == 1 else 'need'}",
            why="These executions are held until a worker that can deliver them starts; no attempt is counted.",
            do="Start a worker whose application registers that handler or, for a kind of target, has its settings. "
            "If the name is wrong, correct it where the executions are scheduled, and edit the waiting executions.",
        )
        for one in await overview.undeliverable(ground.connection)
        if not one.workers
    ]
