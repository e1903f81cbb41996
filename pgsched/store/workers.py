"""Who serves which queues, and whether they are still there."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from psycopg import AsyncConnection, Connection
from psycopg.rows import class_row

from pgsched.errors import Conflict, NotFound
from pgsched.store.sql import statement

PARTITIONS_PER_QUEUE = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Worker:
    """A worker as the others see it. ``served`` and ``paused`` are first partitions of queues; ``delivers`` are its
    capabilities (``domain.capability``).

    ``gone``: its session is missing; ``lost``: for too long, or its lease ran out. ``tries``: it runs what may end its
    process in a process of its own, and ``alone``: it is such a process.
    """

    id: int
    queues: list[str]
    served: list[int]
    paused: list[int]
    gone: bool
    lost: bool
    delivers: list[str] = field(default_factory=list)
    tries: bool = False
    alone: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Introduction:
    """What a worker says of itself (see Worker)."""

    name: str
    queues: Sequence[str]
    release: str
    delivers: Sequence[str]
    tries: bool = False
    alone: bool = False


async def register(connection: AsyncConnection[Any], introduction: Introduction, *, lease: timedelta) -> int:
    """Announces a worker and holds its lock on this session; returns its number."""
    given = {name: getattr(introduction, name) for name in ("name", "release", "tries", "alone")}
    parameters = {**given, "queues": list(introduction.queues), "delivers": list(introduction.delivers), "lease": lease}
    async with connection.transaction():
        cursor = await connection.execute(statement("register_worker"), parameters)
        row = await cursor.fetchone()
        number = int(row[0]) if row else 0
        await hold(connection, number, lease)
    return number


async def declare(connection: AsyncConnection[Any], worker: int, delivers: Sequence[str]) -> None:
    """Says which capabilities a worker has now, and has the others read it."""
    await connection.execute(statement("declare_worker"), {"worker": worker, "delivers": list(delivers)})


async def hold(connection: AsyncConnection[Any], worker: int, lease: timedelta) -> bool:
    """Takes the worker's lock on this session again; False when the worker was declared lost meanwhile."""
    cursor = await connection.execute(statement("hold_worker"), {"worker": worker, "lease": lease})
    return await cursor.fetchone() is not None


async def renew(connection: AsyncConnection[Any], worker: int, lease: timedelta) -> bool:
    """Says that the worker lives; False when it was declared lost meanwhile."""
    cursor = await connection.execute(statement("renew_worker"), {"worker": worker, "lease": lease})
    return await cursor.fetchone() is not None


async def retire(connection: AsyncConnection[Any], worker: int) -> None:
    """Takes a drained worker's row away."""
    await connection.execute(statement("retire_worker"), {"worker": worker})


async def watch(connection: AsyncConnection[Any], grace: timedelta) -> list[Worker]:
    """Every registered worker, after noting whose session is missing."""
    async with connection.cursor(row_factory=class_row(Worker)) as cursor:
        await cursor.execute(statement("watch_workers"), {"grace": grace})
        return await cursor.fetchall()


async def forget(connection: AsyncConnection[Any], workers: Sequence[int]) -> None:
    """Drops lost workers that hold nothing any more."""
    await connection.execute(statement("forget_workers"), {"workers": list(workers)})


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """The first partitions of a worker's queues, as far as those exist and none pulls from them, and of paused ones."""

    queues: list[int]
    paused: list[int]


async def served(connection: AsyncConnection[Any], queues: Sequence[str]) -> Served:
    cursor = await connection.execute(statement("queue_partitions"), {"queues": list(queues)})
    rows = [row for row in await cursor.fetchall() if not row[3]]
    return Served(queues=[row[1] for row in rows], paused=[row[1] for row in rows if row[2]])


def partitions_from(queues: Iterable[int]) -> list[int]:
    """All partitions of the queues with these first ones."""
    return [first + slot for first in queues for slot in range(PARTITIONS_PER_QUEUE)]


async def watch_queues(connection: AsyncConnection[Any], partitions: Iterable[int]) -> bool:
    """Takes the watch over the queues of these partitions on this session; False when another worker has it."""
    cursor = await connection.execute(statement("watch_queues"), {"queues": _numbers(partitions)})
    rows = await cursor.fetchall()
    held = [queue for queue, taken in rows if taken]
    if len(held) == len(rows):
        return True
    await connection.execute(statement("unwatch_queues"), {"queues": held})
    return False


async def unwatch_queues(connection: AsyncConnection[Any], partitions: Iterable[int]) -> None:
    """Gives the watch up."""
    await connection.execute(statement("unwatch_queues"), {"queues": _numbers(partitions)})


def _numbers(partitions: Iterable[int]) -> list[int]:
    return sorted({partition // PARTITIONS_PER_QUEUE for partition in partitions})


def check_queues(connection: Connection[Any], queues: Sequence[str]) -> None:
    """Raises NotFound unless every one of these queues exists, and Conflict for one that consumers pull from."""
    found = {row[0]: row[3] for row in connection.execute(statement("queue_partitions"), {"queues": list(queues)})}
    missing = [name for name in queues if name not in found]
    if missing:
        raise NotFound(f"there is no queue {missing[0]!r}; the queues are in pgsched.queues")
    if pulled := [name for name in queues if found[name]]:
        raise Conflict(f"consumers pull from the queue {pulled[0]!r}: serve another, and claim from this one")


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientSettings:
    """What a worker must know of a client."""

    client_id: str
    keep: str
    options: bytes | None
    weight: int
    database_role: str | None
    signing_secrets: list[str]


async def client_settings(connection: AsyncConnection[Any]) -> list[ClientSettings]:
    """The clients that have settings of their own; on a connection that speaks ``store.wire``."""
    async with connection.cursor(row_factory=class_row(ClientSettings)) as cursor:
        await cursor.execute(statement("client_settings"), binary=True)
        return await cursor.fetchall()


async def queue_settings(connection: AsyncConnection[Any]) -> list[tuple[int, bytes | None, int]]:
    """Of each queue its first partition, the defaults of its executions, and its weight; on a connection that speaks
    ``store.wire``."""
    cursor = await connection.execute(statement("queue_settings"), binary=True)
    return await cursor.fetchall()


async def prepare_days(connection: AsyncConnection[Any], *, ahead: int, kept: int) -> int | None:
    """Makes and drops the days of history; None when another worker is at it."""
    cursor = await connection.execute(statement("prepare_days"), {"ahead": ahead, "kept": kept})
    row = await cursor.fetchone()
    return row[0] if row else None


async def keep_dead_letters(connection: AsyncConnection[Any], *, kept: int, batch: int) -> int:
    """Moves dead letters out of the days that are to be dropped, no more than ``batch``; returns how many."""
    cursor = await connection.execute(statement("keep_dead_letters"), {"kept": kept, "most": batch})
    row = await cursor.fetchone()
    return row[0] or 0 if row else 0


async def expire_dead_letters(connection: AsyncConnection[Any], *, batch: int) -> int:
    """Deletes dead letters that have expired, no more than ``batch``; returns how many."""
    cursor = await connection.execute(statement("expire_dead_letters"), {"most": batch})
    row = await cursor.fetchone()
    return int(row[0]) if row else 0


async def delete_audit(connection: AsyncConnection[Any], *, kept: int, batch: int) -> int:
    """Deletes what the audit log has had for longer than ``kept`` days, no more than ``batch``; returns how many."""
    cursor = await connection.execute(statement("delete_audit"), {"kept": kept, "batch": batch})
    return cursor.rowcount


async def delete_ended_jobs(connection: AsyncConnection[Any], *, batch: int) -> int:
    """Deletes jobs that ended longer ago than their ``delete_after``, no more than ``batch``; returns how many."""
    cursor = await connection.execute(statement("delete_ended_jobs"), {"batch": batch})
    return cursor.rowcount
