"""The table of workers: which queues each serves, and whether it is alive."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from datetime import timedelta
from typing import Any

from psycopg import AsyncConnection, Connection

from pgsched.domain.queue_partitions import queue_of
from pgsched.errors import Conflict, NotFound
from pgsched.store.core.query import column, rows, value
from pgsched.store.core.sql import statement


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisteredWorker:
    """A worker as other workers see it. ``served`` and ``paused`` are the first partitions of queues. ``delivers``
    lists the worker's capabilities. Instants are in seconds, by the database's clock.

    ``held`` is the reason why the installation is held, or None. ``gone`` means that the worker has no sessions left,
    ``lost`` that it has been declared lost and its rows may be taken back, and ``draining`` that it must begin nothing
    more.
    """

    id: int
    queues: list[str]
    served: list[int]
    paused: list[int]
    expires_at: float
    lease: float
    now: float
    gone: bool
    lost: bool
    held: str | None = None
    draining: bool = False
    delivers: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class Introduction:
    """What a worker registers about itself (see RegisteredWorker). ``instance`` is the name that all its sessions
    carry; ``former`` is its previous number, or 0; ``concurrency`` is how many executions it runs at once.
    """

    name: str
    instance: str
    queues: Sequence[str]
    release: str
    delivers: Sequence[str]
    concurrency: int
    lease: timedelta
    term: timedelta
    former: int = 0


async def register(connection: AsyncConnection[Any], introduction: Introduction) -> int:
    """Registers a worker and returns its number."""
    given = asdict(introduction)
    parameters = given | {"queues": list(introduction.queues), "delivers": list(introduction.delivers)}
    return int(await value(connection, "admin/register_worker", **parameters) or 0)


async def declare(connection: AsyncConnection[Any], worker: int, delivers: Sequence[str]) -> None:
    """Records a worker's current capabilities, and makes the other workers read them."""
    await connection.execute(statement("admin/declare_worker"), {"worker": worker, "delivers": list(delivers)})


async def renew(connection: AsyncConnection[Any], worker: int, term: timedelta) -> bool:
    """Renews the worker's registration. Returns False if the worker has been declared lost in the meantime."""
    cursor = await connection.execute(statement("admin/renew_worker"), {"worker": worker, "term": term})
    return await cursor.fetchone() is not None


async def retire(connection: AsyncConnection[Any], worker: int) -> None:
    """Deletes a drained worker's row."""
    await connection.execute(statement("admin/retire_worker"), {"worker": worker})


async def watch(connection: AsyncConnection[Any]) -> list[RegisteredWorker]:
    """Returns every registered worker."""
    return await rows(connection, RegisteredWorker, "admin/watch_workers")


async def declare_lost(connection: AsyncConnection[Any], found: Sequence[RegisteredWorker]) -> list[int]:
    """Declares these workers lost, except those that have renewed since they were read. Returns the numbers of the lost
    workers."""
    named = {"workers": [worker.id for worker in found], "ends": [worker.expires_at for worker in found]}
    return await column(connection, "admin/declare_lost", **named)


async def forget(connection: AsyncConnection[Any], workers: Sequence[int]) -> None:
    """Deletes the rows of lost workers whose executions were taken back."""
    await connection.execute(statement("admin/forget_workers"), {"workers": list(workers)})


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """The queues of a worker that exist and are not pulled. ``queues`` lists their first partitions, and ``paused`` the
    first partitions of those that are paused. ``names`` maps queue numbers to names.
    """

    queues: list[int]
    paused: list[int]
    names: dict[int, str]


async def served(connection: AsyncConnection[Any], queues: Sequence[str]) -> Served:
    cursor = await connection.execute(statement("admin/queue_partitions"), {"queues": list(queues)})
    found = [row for row in await cursor.fetchall() if not row[3]]
    paused = [row[1] for row in found if row[2]]
    return Served(queues=[row[1] for row in found], paused=paused, names={queue_of(row[1]): row[0] for row in found})


async def watch_queues(connection: AsyncConnection[Any], worker: int, partitions: Iterable[int]) -> bool:
    """Announces that a worker will poll the queues of these partitions for a while. Returns False if another worker
    already polls these queues."""
    parameters = {"worker": worker, "queues": _numbers(partitions)}
    cursor = await connection.execute(statement("admin/watch_queues"), parameters)
    if all(row[0] for row in await cursor.fetchall()):
        return True
    await connection.execute(statement("admin/unwatch_queues"), parameters)
    return False


async def unwatch_queues(connection: AsyncConnection[Any], worker: int, partitions: Iterable[int]) -> None:
    """Undoes ``watch_queues``: the worker no longer polls the queues of these partitions."""
    await connection.execute(statement("admin/unwatch_queues"), {"worker": worker, "queues": _numbers(partitions)})


def _numbers(partitions: Iterable[int]) -> list[int]:
    return sorted({queue_of(partition) for partition in partitions})


def of_host(connection: Connection[Any], host: str) -> list[str]:
    """Returns the names of the workers on a machine that are alive according to the database."""
    return [row[0] for row in connection.execute(statement("admin/workers_of_host"), {"host": host})]


def check_queues(connection: Connection[Any], queues: Sequence[str]) -> None:
    """Raises NotFound unless all these queues exist, and Conflict if consumers pull from one of them."""
    cursor = connection.execute(statement("admin/queue_partitions"), {"queues": list(queues)})
    found = {row[0]: row[3] for row in cursor}
    missing = [name for name in queues if name not in found]
    if missing:
        raise NotFound(f"there is no queue {missing[0]!r}; the names are in pgsched.queues")
    if pulled := [name for name in queues if found[name]]:
        raise Conflict(
            f"consumers pull from the queue {pulled[0]!r}, so workers cannot serve it: leave it out of "
            "the worker's queues"
        )
