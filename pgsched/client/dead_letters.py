"""Dead letter methods, shared by both clients."""

from collections.abc import Mapping
from typing import Any, TypedDict, Unpack
from uuid import UUID

from pgsched.api_responses import Page
from pgsched.client.requests import (
    Call,
    Id,
    Instant,
    as_label,
    between,
    body,
    check_names,
    named,
    path,
)
from pgsched.client.sync_async_methods import method, pages
from pgsched.domain.states import Sort
from pgsched.store.lookup.row_types import DeadLetter, DeadLetterDetail


class DeadLetterQuery(TypedDict, total=False):
    """Filters for dead letters. ``target`` is a prefix and ``reason`` a substring. ``start`` (inclusive) and ``end``
    (exclusive) apply to finished_at."""

    client: str | None
    target: str | None
    host: str | None
    job: Id | None
    key: str | None
    start: Instant | None
    end: Instant | None
    reason: str | None
    status_code: int | None
    labels: Mapping[str, str] | None


class ReplayOptions(TypedDict, total=False):
    """Changes for the new run of a dead letter; omitted fields keep their values."""

    target: str
    payload: Any
    options: Mapping[str, Any]
    note: str


class DeadLetterMethods:
    """Dead letter methods, shared by both clients."""

    @method
    def list_dead_letters(
        self,
        *,
        state: str = "open",
        sort: Sort = "newest",
        limit: int = 50,
        after: str | None = None,
        **wanted: Unpack[DeadLetterQuery],
    ) -> Call[Page[DeadLetter]]:
        """One page of dead letters. ``state`` is ``open``, ``replayed``, ``discarded`` or ``all``."""
        check_names(wanted, DeadLetterQuery)
        asked = as_label(between(wanted)) | {"state": state, "sort": sort, "limit": limit, "after": after}
        return Call("GET", path("dead-letters"), Page[DeadLetter], query=asked)

    iter_dead_letters = pages(list_dead_letters)

    @method
    def get_dead_letter(self, execution_id: Id, *, client: str | None = None) -> Call[DeadLetterDetail]:
        """A dead letter with its failed attempts."""
        return Call("GET", _letter(execution_id), DeadLetterDetail, query={"client": client})

    @method
    def replay(self, execution_id: Id, *, client: str | None = None, **changes: Unpack[ReplayOptions]) -> Call[UUID]:
        """Runs a dead letter again, and returns the new execution's id. A repeated call returns the same id, unless the
        new execution has also failed."""
        retry = path("executions", named(execution_id), "retry")
        return Call("POST", retry, UUID, "id", query={"client": client}, body=body(changes))

    @method
    def discard(self, execution_id: Id, *, client: str | None = None, note: str | None = None) -> Call[bool]:
        """Discards a dead letter. Returns False if it was already discarded."""
        return Call("DELETE", _letter(execution_id), bool, "changed", query={"client": client, "note": note})


def _letter(execution_id: Id) -> str:
    return path("dead-letters", named(execution_id))
