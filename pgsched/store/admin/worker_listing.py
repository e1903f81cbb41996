"""Workers as an operator sees them: the queues each serves and the executions it holds."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg import AsyncConnection

from pgsched.errors import NotFound
from pgsched.store.core.query import rows
from pgsched.store.lookup.now import MOST, QUEUES, Edge, edges_of_queues


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerRow:
    """A worker. ``delivers`` lists its handlers and the kinds of targets that it can call. ``concurrency`` is the
    number of executions that it runs at once. ``state`` is ``active``, ``draining`` (the worker begins nothing more) or
    ``lost``. ``in_hand`` is counted among the oldest due executions of each partition; if ``cut``, there may be
    more."""

    id: int
    name: str
    state: str
    queues: list[str]
    delivers: list[str]
    concurrency: int
    release: str
    started_at: datetime
    draining_since: datetime | None
    reason: str | None
    in_hand: int
    cut: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionInHand:
    """An execution that a worker has claimed."""

    id: UUID
    client: str
    key: str | None
    target: str
    attempt: int
    fire_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class FormerWorker:
    """A worker that has left: its process stopped, or it has been lost since ``lost_since``."""

    id: int
    name: str
    queues: list[str]
    release: str
    started_at: datetime
    lost_since: datetime | None
    left_at: datetime


async def all_workers(connection: AsyncConnection[Any], worker: int | None = None) -> list[WorkerRow]:
    """Returns the registered workers in the order in which they registered, or only ``worker``."""
    found = await rows(connection, dict, "admin/workers", worker=worker)
    edges = await edges_of_queues(connection) if found else []
    held = {edge.worker: edge for edge in edges if edge.worker is not None}
    in_hand = [held.get(one["id"], Edge()) for one in found]
    return [WorkerRow(**one, in_hand=edge.in_hand, cut=edge.cut) for one, edge in zip(found, in_hand, strict=True)]


async def get_worker(connection: AsyncConnection[Any], worker: int) -> WorkerRow:
    """Returns the worker. Raises NotFound if the worker is not registered."""
    for one in await all_workers(connection, worker):
        return one
    raise NotFound(f"there is no worker {worker}; it may have stopped: see the list of workers")


async def former_workers(
    connection: AsyncConnection[Any], worker: int | None = None, *, limit: int
) -> list[FormerWorker]:
    """Returns up to ``limit`` workers that left in the last 7 days, latest first. With ``worker``, considers only that
    worker."""
    return await rows(connection, FormerWorker, "admin/former_workers", worker=worker, limit=limit)


async def in_hand_of(connection: AsyncConnection[Any], worker: int, *, limit: int) -> Sequence[ExecutionInHand]:
    """Returns the oldest executions that the worker holds, among the oldest due rows of each partition."""
    return await rows(
        connection, ExecutionInHand, "lookup/in_hand", worker=worker, queues=QUEUES, most=MOST, limit=limit
    )
