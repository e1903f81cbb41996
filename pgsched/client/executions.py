"""Execution methods, shared by both clients."""

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict, Unpack

from pgsched.api_responses import Page
from pgsched.client.requests import Call, Id, Instant, as_label, between, body, check_names, named, path
from pgsched.client.sync_async_methods import method, pages
from pgsched.domain.states import Sort
from pgsched.store.lookup.row_types import Execution, ExecutionDetail


class ExecutionQuery(TypedDict, total=False):
    """Filters for executions. ``status`` is one or more statuses, any of which may match; all ``labels`` must match.
    ``start`` (inclusive) and ``end`` (exclusive) apply to scheduled_for."""

    client: str | None
    status: str | Sequence[str] | None
    start: Instant | None
    end: Instant | None
    queue: str | None
    host: str | None
    key: str | None
    job: Id | None
    labels: Mapping[str, str] | None


class ExecutionChanges(TypedDict, total=False):
    """The changes that ``edit_execution`` makes. Omitted fields stay unchanged. ``payload``, ``options`` and ``labels``
    are replaced as a whole; None removes them."""

    target: str
    payload: Any
    options: Mapping[str, Any] | None
    labels: Mapping[str, str] | None
    fire_at: Instant
    note: str


class ExecutionMethods:
    """Execution methods, shared by both clients."""

    @method
    def get_execution(self, execution_id: Id, *, client: str | None = None) -> Call[ExecutionDetail]:
        """An execution, with its failed attempts and the executions it is still waiting for."""
        return Call("GET", _one(execution_id), ExecutionDetail, query={"client": client})

    @method
    def cancel_execution(self, execution_id: Id, *, client: str | None = None, note: str | None = None) -> Call[bool]:
        """Cancels a waiting or running execution. Returns False if it had already ended."""
        query = {"client": client}
        return Call("POST", _one(execution_id, "cancel"), bool, "changed", query=query, body={"note": note})

    @method
    def list_executions(
        self, *, sort: Sort = "newest", limit: int = 50, after: str | None = None, **wanted: Unpack[ExecutionQuery]
    ) -> Call[Page[Execution]]:
        """One page of executions."""
        check_names(wanted, ExecutionQuery)
        asked = as_label(between(wanted)) | {"sort": sort, "limit": limit, "after": after}
        return Call("GET", path("executions"), Page[Execution], query=asked)

    iter_executions = pages(list_executions)

    @method
    def edit_execution(
        self, execution_id: Id, *, client: str | None = None, **changed: Unpack[ExecutionChanges]
    ) -> Call[ExecutionDetail]:
        """Changes the given fields of a one-shot, until it starts. While it is waiting for a retry, only its
        ``fire_at`` can be changed."""
        check_names(changed, ExecutionChanges)
        query = {"client": client}
        return Call("PATCH", _one(execution_id), ExecutionDetail, query=query, body=body(changed))


def _one(id: Id, *verb: str) -> str:
    return path("executions", named(id), *verb)
