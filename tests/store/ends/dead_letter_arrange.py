"""Arrange dead letters as a settle leaves them, and replay and expire them."""

from typing import Any
from uuid import UUID

from tests.store.store_arrange import Connection, call, finish, schedule, value


def dead_letter(
    db: Connection,
    *,
    ago: str = "1 hour",
    reason: str = "503 Service Unavailable",
    status_code: int = 503,
    **given: Any,
) -> UUID:
    """An execution that failed this long ago, with one failed attempt."""
    id = schedule(db, **given)
    fail(db, id, ago=ago, reason=reason, status_code=status_code)
    return id


def fail(
    db: Connection, id: UUID, *, ago: str = "0 seconds", reason: str = "503 Service Unavailable", status_code: int = 503
) -> None:
    """Let the execution fail for good."""
    finish(db, id, ended="failed", ago=ago)
    db.execute(
        "update pgsched.history set reason = %s, status_code = %s, attempt = 5 where id = %s", [reason, status_code, id]
    )
    db.execute(
        "insert into pgsched.attempts (finished_at, execution_id, attempt, status_code, client_id, error)"
        " select finished_at, id, 5, status_code, client_id, reason from pgsched.history where id = %s",
        [id],
    )


def state(db: Connection, id: UUID) -> str:
    return str(value(db, "select state from pgsched.dead_letters where id = %s", [id]))


def replay(db: Connection, id: UUID, **given: Any) -> UUID:
    new_id = call(db, "replay", id=id, **given)
    assert isinstance(new_id, UUID)
    return new_id


def keep_days(db: Connection, kept: int) -> None:
    """Drop old days as the upkeep does, and keep their dead letters."""
    while value(db, "select pgsched_internal.keep_dead_letters(%s, 1000)", [kept]) == 1000:
        pass
    db.execute("select pgsched_internal.drop_day(name) from pgsched_internal.days_to_drop(%s) name", [kept])
    db.execute("select pgsched_internal.trim_default_days(%s, 1000)", [kept])
