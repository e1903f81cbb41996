"""The functions of the schema ``pgsched_internal`` that Python calls, declared as in ``store/verbs.py``.

Users may not call them. ``store/interface`` says what each function does, and which locks it takes.
"""

from datetime import date, datetime, timedelta
from typing import Literal
from uuid import UUID

from pgsched.domain.api_key import KnownKey
from pgsched.store.bulk.operation_types import Chunk
from pgsched.store.core.verb import BigInt, SmallInt, internal_verb
from pgsched.store.verbs import Connection

Step = Literal["going on", "adopted", "busy", "none", "apart"]
"""Outcome of one step of ``adopt_strays``, in this order: more steps remain; this was the last step; another session
holds a lock; the default partition is empty; the days of its rows cannot become a single partition yet.
"""


# Days of history


@internal_verb
async def days_to_make(connection: Connection, *, ahead: int) -> list[tuple[str, date]]: ...
@internal_verb
async def make_day(connection: Connection, parent: str, day: date) -> bool: ...
@internal_verb
async def attach_day(connection: Connection, parent: str, day: date) -> bool: ...
@internal_verb
async def days_to_drop(connection: Connection, *, kept: int) -> list[str]: ...
@internal_verb
async def drop_day(connection: Connection, name: str) -> bool | None: ...
@internal_verb
async def adopt_strays(connection: Connection, parent: str) -> Step: ...
@internal_verb
async def days_to_archive(connection: Connection) -> list[date]: ...
@internal_verb
async def mark_archived(connection: Connection, day: date, *, actor: str | None) -> bool: ...
@internal_verb
async def trim_default_days(connection: Connection, *, kept: int, most: int) -> int: ...
@internal_verb
async def keep_dead_letters(connection: Connection, *, kept: int, most: int) -> int: ...
@internal_verb
async def expire_dead_letters(connection: Connection, *, most: int) -> int: ...
@internal_verb
async def tidy_keys(connection: Connection, *, most: int) -> int: ...
@internal_verb
async def spread_overdue(
    connection: Connection, partition: SmallInt, *, due_by: datetime, begins: datetime, apart: timedelta, most: int
) -> int: ...


# Keys of the API, and secrets


@internal_verb
async def create_key(
    connection: Connection,
    id: str,
    hash: bytes,
    *,
    subject: str,
    clients: list[str] | None,
    scopes: list[str],
    expires_at: datetime | None,
    actor: str | None,
    rate: int | None,
    burst: int | None,
) -> None: ...
@internal_verb
async def rotate_key(
    connection: Connection, id: str, hash: bytes, *, keep_for: timedelta, actor: str | None
) -> None: ...
@internal_verb
async def revoke_key(connection: Connection, id: str, *, actor: str | None = None) -> bool: ...
@internal_verb
async def set_key_rate(
    connection: Connection, id: str, *, rate: int | None, burst: int | None = None, actor: str | None = None
) -> bool: ...
@internal_verb
async def look_up_keys(connection: Connection, ids: list[str]) -> list[KnownKey]: ...
@internal_verb
async def note_key_use(connection: Connection, id: str) -> None: ...
@internal_verb
async def has_keys(connection: Connection) -> bool: ...
@internal_verb
async def put_secret(
    connection: Connection, client: str, name: str, *, sealed: bytes, hosts: list[str] | None, actor: str | None
) -> bool: ...
@internal_verb
async def sealed_with(connection: Connection) -> list[tuple[bytes, int]]: ...
@internal_verb
async def reseal(connection: Connection, client: str, name: str, *, before: bytes, after: bytes) -> bool: ...
@internal_verb
async def rotate_signing_secret(
    connection: Connection, client: str, *, sealed: bytes, hint: str, keep_for: timedelta, actor: str | None
) -> bool: ...


# Consequences of an end, and work done in chunks


@internal_verb
async def end_overdue(connection: Connection, *, most: int) -> int: ...
@internal_verb
async def record_results(connection: Connection, *, most: int) -> int: ...
@internal_verb
async def release_dependents(
    connection: Connection, *, most: int, after: UUID | None, behind: UUID | None
) -> tuple[int, int, UUID | None, UUID | None]: ...
@internal_verb
async def release_abandoned(connection: Connection, *, most: int, after: UUID | None) -> tuple[int, UUID | None]: ...
@internal_verb
async def recall(connection: Connection, partition: SmallInt, id: UUID, token: BigInt) -> str: ...
@internal_verb
async def advance_bulk(connection: Connection, id: UUID, *, most: int) -> Chunk: ...


# Everything else


@internal_verb
async def check_same_server(
    connection: Connection, *, known: BigInt | None = None
) -> tuple[str | None, int | None]: ...
@internal_verb
async def schedule_together(
    connection: Connection, client: str, orders: str
) -> list[tuple[UUID, str, datetime | None]]: ...
@internal_verb
async def until_next(connection: Connection, queue: str) -> float | None: ...
@internal_verb
async def roll_up(connection: Connection, counted: str) -> None: ...
@internal_verb
async def roll_up_notes(connection: Connection, *, most: int) -> int: ...
@internal_verb
async def notify_workers(connection: Connection, said: str) -> None: ...
@internal_verb
async def advance_sequences(connection: Connection) -> None: ...
