"""Bulk operations: what a filter names is counted, then changed at a rate, shown and stopped; so are the instants of a
backfill."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from uuid import UUID

import msgspec
from litestar import Response

from pgsched.api.access import check_clients, grant_of
from pgsched.api.bulk import OperationId
from pgsched.api.pages.forms import (
    OF_EXECUTIONS,
    OF_LETTERS,
    Text,
    execution_filter,
    filled,
    instant_in,
    letter_filter,
    link_to,
    number_in,
    place,
    sent,
    statuses_in,
)
from pgsched.api.pages.rendering import html
from pgsched.api.pages.routing import does, done, shows
from pgsched.api.parameters import Actor, JobId, Pooled, cursor, position
from pgsched.api.problems import Unreadable
from pgsched.api.request_reading import ApiRequest
from pgsched.api_responses import page_of
from pgsched.domain.duration import parse_shift
from pgsched.errors import InvalidInput, PgschedError
from pgsched.store import verbs
from pgsched.store.bulk import operations
from pgsched.store.bulk.values import COUNTED_WITHIN, Action, BulkAsked
from pgsched.store.lookup import bulk_pages, listings
from pgsched.store.lookup.row_types import filter_json

_OF_EXECUTIONS: tuple[Action, ...] = ("cancel", "reschedule")
_ACTIONS: tuple[Action, ...] = (*_OF_EXECUTIONS, "discard", "replay")
_RATES = {"cancel": 1000, "reschedule": 1000, "discard": 1000, "replay": 10, "backfill": 10}
GLANCE = 0.07
"""Seconds that a page counts for, unless whoever looks asks it to go on; a page may count twice."""


class _Wanted(NamedTuple):
    """What is to be done, the fields and statuses that say to which, and the filter that they make."""

    action: Any
    asked: dict[str, str]
    chosen: tuple[str, ...]
    filter: str


@shows("/bulk/new", scope="operate", form=True)
async def count_first(request: ApiRequest, database: Pooled, action: Text = None) -> Response[Any]:
    given = dict(request.query_params)
    if action not in _OF_EXECUTIONS and not filled(given, OF_LETTERS):  # all dead letters there are by now
        given["to"] = (await database.ask(verbs.now)).strftime("%Y-%m-%dT%H:%M:%SZ")
    wanted = _wanted(request, action, given, request.query_params.getall("status", []))
    return await _form(request, database, wanted, {})


@does("/bulk/new", scope="operate")
async def start_bulk_of_page(request: ApiRequest, database: Pooled, actor: Actor) -> Response[Any]:
    form = await sent(request)
    wanted = _wanted(request, form.get("action"), form, [one for one in form.get("statuses", "").split(",") if one])
    shift = form.get("shift")
    try:
        how: Any = {
            "rate": number_in("rate", form.get("rate"), _RATES[wanted.action]),
            "target": form.get("new_target") or None,
            "fire_at": instant_in("fire_at", form.get("fire_at")),
            "shift": parse_shift(shift) if shift else None,
            "note": form.get("note") or None,
            "actor": actor,
            "counted_within": GLANCE,
        }
        found = await database.ask(operations.ask, wanted.action, wanted.filter, **how)
    except InvalidInput as error:
        return await _form(request, database, wanted, form, fault=error)
    return done(f"/bulk/{found.id}", "start")


@shows("/bulk", scope="read")
async def show_bulk(request: ApiRequest, database: Pooled, after: Text = None) -> Response[Any]:
    found = await database.ask(bulk_pages.list_operations, limit=51, after=position(after or None))
    shown = page_of(found, 50, lambda row: cursor(row.id))
    return html(request, "bulk.html", rows=shown.items, **place(request, after, shown.next))


@shows("/bulk/{operation_id:uuid}", scope="read")
async def show_operation(request: ApiRequest, operation_id: OperationId, database: Pooled) -> Response[Any]:
    row = await database.ask(bulk_pages.get_operation, operation_id)
    return html(request, "bulk_operation.html", row=row, filter=msgspec.json.decode(row.filter))


@does("/bulk/{operation_id:uuid}/stop", scope="operate")
async def stop_operation(operation_id: OperationId, database: Pooled, actor: Actor) -> Response[Any]:
    changed = await database.ask(verbs.stop_bulk, operation_id, actor=actor)
    return done(f"/bulk/{operation_id}", "stop", changed=changed)


def _wanted(request: ApiRequest, action: str | None, given: Mapping[str, Any], statuses: Sequence[str]) -> _Wanted:
    """Raises InvalidInput, Unreadable, and Refused for another client."""
    if action not in _ACTIONS:
        raise InvalidInput(f"action: write one of {', '.join(_ACTIONS)}")
    asked, chosen = filled(given, OF_LETTERS), tuple[str, ...]()
    if action in _OF_EXECUTIONS:
        asked, chosen = filled(given, OF_EXECUTIONS), statuses_in(statuses)
    check_clients(grant_of(request), [asked.get("client")])
    named = execution_filter(asked, chosen) if action in _OF_EXECUTIONS else letter_filter(asked)
    return _Wanted(action, asked, chosen, named.as_json())


async def _form(
    request: ApiRequest,
    database: Pooled,
    wanted: _Wanted,
    given: Mapping[str, str],
    *,
    fault: PgschedError | None = None,
) -> Response[Any]:
    """What a filter names, how many these are, and what is to be said before they are changed."""
    within = COUNTED_WITHIN if request.query_params.get("count") == "on" else GLANCE
    counted: Action = "cancel" if wanted.action in _OF_EXECUTIONS else "replay"
    how: Any = {"dry_run": True, "counted_within": within}
    found: BulkAsked = await database.ask(operations.ask, counted, wanted.filter, **how)
    fields = {name: given.get(name, "") for name in ("note", "fire_at", "shift", "new_target")}
    return html(
        request,
        "bulk_form.html",
        action=wanted.action,
        asked=wanted.asked,
        chosen=wanted.chosen,
        found=found,
        fault=fault,
        fields=fields,
        rate=given.get("rate") or _RATES[wanted.action],
        counts_on=None if found.complete or fault or "count" in request.query_params else link_to(request, count="on"),
    )


@shows("/jobs/{job_id:uuid}/backfill", scope="operate", form=True)
async def show_backfill_form(request: ApiRequest, job_id: JobId, database: Pooled) -> Response[Any]:
    return await _backfill_form(request, job_id, database, {})


@does("/jobs/{job_id:uuid}/backfill", scope="operate")
async def backfill_by_form(request: ApiRequest, job_id: JobId, database: Pooled, actor: Actor) -> Response[Any]:
    """Counts first, and starts what was counted."""
    form = await sent(request)
    given = {name: form.get(name, "") for name in ("from", "to", "rate")}
    starts = form.get("do") == "start"
    try:
        rate = number_in("rate", given["rate"], _RATES["backfill"])
        wanted = _times_filter(job_id, given)
        found = await database.ask(operations.ask, "backfill", wanted, rate=rate, dry_run=not starts, actor=actor)
    except PgschedError as error:
        return await _backfill_form(request, job_id, database, given, fault=error)
    if found.id is not None:
        return done(f"/bulk/{found.id}", "start")
    return await _backfill_form(request, job_id, database, given, found=found)


def _times_filter(job_id: UUID, given: dict[str, str]) -> str:
    """Raises Unreadable."""
    start, end = instant_in("from", given["from"]), instant_in("to", given["to"])
    if start is None or end is None:
        raise Unreadable("from which instant, and up to which? Give both")
    return filter_json({"job": job_id, "start": start, "end": end})


async def _backfill_form(
    request: ApiRequest,
    job_id: JobId,
    database: Pooled,
    given: dict[str, str],
    *,
    found: BulkAsked | None = None,
    fault: PgschedError | None = None,
) -> Response[Any]:
    job = await database.ask(listings.get_job, job_id)
    rate = given.get("rate") or _RATES["backfill"]
    return html(request, "backfill_form.html", fault=fault, job=job, fields=given, rate=rate, found=found)
