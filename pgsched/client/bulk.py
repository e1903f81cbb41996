"""Bulk operation methods, shared by both clients."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import TypedDict, Unpack

from pgsched.api_responses import Page
from pgsched.client.requests import Call, Id, Instant, between, check_names, identity, path, present
from pgsched.client.sync_async_methods import method, pages
from pgsched.domain.duration import format_shift
from pgsched.domain.schedule import instant_of
from pgsched.store.bulk.operation_types import Action, BulkAsked, BulkDetail, BulkOperation


class BulkQuery(TypedDict, total=False):
    """Filters of a bulk operation, all of which must match.

    ``status`` (one or more, any of which may match) and ``queue`` are for waiting and running executions. ``target`` (a
    prefix), ``reason`` (a substring) and ``status_code`` are for dead letters. Jobs can be filtered only by ``client``
    and ``labels``. ``start`` (inclusive) and ``end`` (exclusive) apply to scheduled_for or, for dead letters, to
    finished_at. A backfill takes ``job``, ``start`` and ``end``.
    """

    client: str | None
    status: Sequence[str] | None
    queue: str | None
    host: str | None
    job: Id | None
    key: str | None
    start: Instant | None
    end: Instant | None
    target: str | None
    reason: str | None
    status_code: int | None
    labels: Mapping[str, str] | None


class BulkMethods:
    """Bulk operation methods, shared by both clients."""

    @method
    def bulk(
        self,
        action: Action,
        *,
        rate: float | None = None,
        new_target: str | None = None,
        fire_at: Instant | None = None,
        shift: timedelta | str | None = None,
        note: str | None = None,
        dry_run: bool = False,
        **wanted: Unpack[BulkQuery],
    ) -> Call[BulkAsked]:
        """Applies ``action`` to everything that matches, at ``rate`` items per second. Jobs are changed without a rate.
        A dry run only counts the matches.

        ``replay`` can take ``new_target``. ``reschedule`` takes ``fire_at``, or ``shift`` such as ``1h`` or ``-15m``.
        """
        check_names(wanted, BulkQuery)
        named = present(between(wanted))
        if isinstance(named.get("status"), str):
            named["status"] = [named["status"]]
        how = {
            "rate": rate,
            "target": new_target,
            "fire_at": None if fire_at is None else instant_of(fire_at, "fire_at").isoformat(),
            "shift": format_shift(shift) if isinstance(shift, timedelta) else shift,
            "note": note,
            "dry_run": dry_run,
        }
        return Call("POST", path("bulk"), BulkAsked, body={"action": action, "filter": named, **present(how)})

    @method
    def get_bulk(self, operation_id: Id) -> Call[BulkDetail]:
        """A bulk operation and its progress; for a backfill, also its runs."""
        return Call("GET", path("bulk", identity(operation_id)), BulkDetail)

    @method
    def list_bulk(
        self, *, action: Action | None = None, job: Id | None = None, limit: int = 50, after: str | None = None
    ) -> Call[Page[BulkOperation]]:
        """One page of bulk operations, newest first."""
        query = {"action": action, "job": job, "limit": limit, "after": after}
        return Call("GET", path("bulk"), Page[BulkOperation], query=query)

    iter_bulk = pages(list_bulk)

    @method
    def stop_bulk(self, operation_id: Id) -> Call[bool]:
        """Stops a bulk operation. Items not yet reached stay unchanged. Returns False if the operation had already
        ended."""
        return Call("DELETE", path("bulk", identity(operation_id)), bool, "changed")
