"""Connects the parts of a worker, so that they notify each other."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pgsched.store.admin.worker_registry import RegisteredWorker
from pgsched.worker.claim.listener import Hints

if TYPE_CHECKING:
    from pgsched.scheduler.assembly import Assembly


def connect(parts: "Assembly") -> None:
    """Connects the signals."""
    claimer, gate_claimer, reaper, circuits = parts.claimer, parts.gate_claimer, parts.upkeep.reaper, parts.circuits
    for told_of_a_row in (parts.settler.expected, parts.sweeper.expected):
        told_of_a_row.connect(claimer.expect)
    for wakes in (parts.sweeper.has_found, parts.dispatcher.room):
        wakes.connect(claimer.wake)
    for looks in (parts.dispatcher.shares.relieved, reaper.reaped, parts.capabilities.changed):
        looks.connect(claimer.look)
    parts.capabilities.found.connect(gate_claimer.feed_from)
    circuits.changed.connect(gate_claimer.look)
    parts.admission.has_news.connect(gate_claimer.wake)
    parts.in_hand.left.connect(parts.admission.left)
    parts.in_hand.left.connect(circuits.forget)
    parts.settler.counted.connect(parts.minutes.ended)
    parts.settler.failed.connect(parts.failures.failed)
    parts.settler.held.connect(parts.capabilities.note_held)
    parts.dispatcher.unbegun.asks.connect(parts.renewer.wake)
    for ended in (parts.settler.ended, reaper.reaped):
        ended.connect(parts.upkeep.releaser.settled)
    reaper.seen.connect(lambda alive: _note_workers(parts, alive))
    parts.assignment.hold_changed.connect(lambda: _note_hold(parts))


def hints(parts: "Assembly") -> Hints:
    """Returns the functions to call for each kind of notification."""
    claimer, upkeep = parts.claimer, parts.upkeep

    def clients_changed() -> None:
        parts.known_settings.wake()
        parts.vault.forget()

    def queues_changed() -> None:
        for service in (upkeep.reaper, parts.known_settings, upkeep.full_queues):
            service.wake()

    def turns_changed() -> None:
        upkeep.stuck_keys.wake()
        upkeep.pulled.look()

    return Hints(
        expect=claimer.expect,
        often=claimer.poll,
        look=claimer.wake,
        changed={
            "plan": upkeep.planner.wake,
            "clients": clients_changed,
            "queues": queues_changed,
            "release": upkeep.releaser.look,
            "bulk": upkeep.bulk.wake,
            "gates": parts.gate_claimer.look,
            "turns": turns_changed,
            "workers": upkeep.reaper.wake,
        },
        ended=parts.renewer.doubt,
        now=parts.clock.now,
    )


def gauges(parts: "Assembly") -> dict[str, float]:
    """Returns the worker's gauges for metrics."""
    return {
        "pgsched_worker_in_hand": len(parts.in_hand),
        "pgsched_worker_capacity": parts.dispatcher.capacity,
        "pgsched_worker_running": len(parts.dispatcher.running),
        "pgsched_worker_room": parts.dispatcher.spare,
    }


def drain_spent(parts: "Assembly") -> None:
    """Reports that all handler threads are stuck, and drains the process."""
    reason = "every handler thread is stuck; this process is draining so that its supervisor can replace it"
    parts.events.emit("slots.taken", slots=parts.threads.name, most=parts.threads.most, reason=reason)
    if parts.containment.drain is not None:
        parts.containment.drain()


def _note_workers(parts: "Assembly", alive: Sequence[RegisteredWorker]) -> None:
    """Updates the parts that depend on which workers are alive."""
    parts.capabilities.note_others(alive, parts.assignment.number)
    if parts.assignment.share(alive):
        open_now = frozenset(parts.assignment.open)
        parts.dispatcher.unbegun.recall(lambda row: row.partition not in open_now)
        parts.claimer.reopen()


def _note_hold(parts: "Assembly") -> None:
    if parts.assignment.held is not None:
        parts.dispatcher.unbegun.recall(lambda _: True)
        parts.events.emit("installation.held", why=parts.assignment.held, then="pgsched admin recover")
    else:
        parts.events.emit("installation.released")
