"""The public functions of the database, in the schema ``pgsched``, that Python calls.

``core/verb.py`` explains how a declaration is called. ``store/interface`` says what each function does and what it
refuses; ``docs/reference/sql.md`` is the reference for users.

A returned ``bool`` says whether the call changed anything. ``note`` and ``actor`` go to the audit log; if the actor is
None, the log names the role that the session acts as. JSON is passed as text or as a mapping.
"""

from datetime import datetime, timedelta
from typing import Any, Literal
from uuid import UUID

from psycopg import AsyncConnection

from pgsched.store.core.verb import BigInt, Json, verb

Connection = AsyncConnection[Any]
PausedKind = Literal["job", "client", "queue", "worker", "target", "ordering_key", "installation"]


# Scheduling


@verb
async def cancel(
    connection: Connection,
    id: UUID | None = None,
    *,
    client: str | None = None,
    key: str | None = None,
    note: str | None = None,
    actor: str | None = None,
) -> bool: ...
@verb
async def edit(
    connection: Connection,
    id: UUID | None = None,
    changes: str = "{}",
    *,
    client: str | None = None,
    key: str | None = None,
    note: str | None = None,
    actor: str | None = None,
    force: bool = False,
) -> bool: ...


# Jobs


@verb
async def trigger(connection: Connection, job_id: UUID, *, actor: str | None) -> UUID: ...


# Dead letters and bulk operations


@verb
async def replay(
    connection: Connection,
    id: UUID,
    *,
    target: str | None = None,
    payload: str | None = None,
    options: str | None = None,
    note: str | None,
    actor: str | None,
) -> UUID: ...
@verb
async def discard(connection: Connection, id: UUID, *, note: str | None = None, actor: str | None) -> bool: ...
@verb
async def bulk(
    connection: Connection,
    action: str,
    filter: str,
    *,
    rate: float | None = None,
    target: str | None = None,
    fire_at: datetime | None = None,
    shift: timedelta | None = None,
    dry_run: bool = False,
    within: timedelta = timedelta(seconds=5),
    note: str | None = None,
    actor: str | None = None,
) -> tuple[UUID | None, int | None, bool]: ...
@verb
async def stop_bulk(connection: Connection, id: UUID, *, actor: str | None) -> bool: ...


# Pulled messages


@verb
async def complete(connection: Connection, id: UUID, token: BigInt, result: str | None) -> None: ...
@verb
async def fail(
    connection: Connection, id: UUID, token: BigInt, *, error: str, retryable: bool, retry_after: timedelta | None
) -> str: ...
@verb
async def extend(connection: Connection, id: UUID, token: BigInt, lease: timedelta) -> datetime: ...
@verb
async def release(connection: Connection, id: UUID, token: BigInt) -> None: ...


# Pausing and resuming: a job, a client, a queue, a worker, a target, an ordering key, the installation


@verb
async def pause(
    connection: Connection,
    kind: PausedKind,
    name: str | None = None,
    *,
    client: str | None = None,
    until: datetime | None = None,
    note: str | None = None,
    actor: str | None,
) -> bool: ...
@verb
async def resume(
    connection: Connection,
    kind: PausedKind,
    name: str | None = None,
    *,
    client: str | None = None,
    note: str | None = None,
    actor: str | None,
) -> bool: ...


# Limits


@verb
async def set_limit(
    connection: Connection,
    kind: str,
    name: str,
    *,
    rate: int | None,
    per: timedelta,
    burst: int | None,
    concurrency: int | None,
    actor: str | None,
) -> bool: ...
@verb
async def drop_limit(connection: Connection, kind: str, name: str, *, actor: str | None) -> bool: ...


# Clients, queues, workers and the installation


@verb
async def set_client(connection: Connection, client: str, changes: Json, *, actor: str | None) -> bool: ...
@verb
async def drop_client(connection: Connection, client: str, *, actor: str | None) -> bool: ...
@verb
async def drop_secret(connection: Connection, client: str, name: str, *, actor: str | None) -> bool: ...
@verb
async def drop_signing_secret(connection: Connection, client: str, *, actor: str | None) -> bool: ...
@verb
async def create_queue(connection: Connection, name: str, changes: Json, *, actor: str | None) -> int: ...
@verb
async def set_queue(connection: Connection, name: str, changes: Json, *, actor: str | None) -> bool: ...
@verb
async def drop_queue(connection: Connection, name: str, *, actor: str | None) -> None: ...
@verb
async def set_installation(connection: Connection, changes: Json, *, actor: str | None) -> bool: ...
@verb
async def now(connection: Connection) -> datetime: ...
