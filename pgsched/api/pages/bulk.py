"""Pages for bulk operations and backfills: count the matches of a filter, then start, show and stop the operation."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
from litestar import Response

from pgsched.api.access import check_clients, grant_of
from pgsched.api.bulk import OperationId
from pgsched.api.pages.forms import (
    OF_EXECUTIONS,
    OF_LETTERS,
    Text,
    filled,
    filter_of,
    id_in,
    instant_in,
    link_to,
    number_in,
    place,
    sent,
    statuses_in,
)
from pgsched.api.pages.rendering import html
from pgsched.api.pages.routing import does, done, shows
from pgsched.api.pages.verb_forms import does_to
from pgsched.api.parameters import Actor, JobId, Pooled, cursor, position
from pgsched.api.problems import Unreadable
from pgsched.api.request_reading import ApiRequest
from pgsched.api_responses import page_of
from pgsched.domain.duration import parse_shift
from pgsched.errors import InvalidInput, PgschedError
from pgsched.store import verbs
from pgsched.store.bulk import starting
from pgsched.store.bulk.operation_types import COUNTED_WITHIN, Action, BulkAsked
from pgsched.store.lookup import bulk_pages, executions_and_jobs
from pgsched.store.lookup.filters import DeadLetterFilter, ExecutionFilter, filter_json

_OF_EXECUTIONS: tuple[Action, ...] = ("cancel", "reschedule")
_ACTIONS: tuple[Action, ...] = (*_OF_EXECUTIONS, "discard", "replay", "backfill")
_RATES = {"cancel": 1000, "reschedule": 1000, "discard": 1000, "replay": 10, "backfill": 10}
GLANCE = 0.07
"""The maximum number of seconds for one count (a page may count twice), unless the user asks for a longer count."""


class _Wanted(NamedTuple):
    """An action, the fields and statuses that select its items, and the resulting filter."""

    action: Any
    asked: dict[str, str]
    chosen: tuple[str, ...]
    filter: str


@shows("/bulk/new", scope="operate", form=True)
async def count_first(request: ApiRequest, database: Pooled, action: Text = None) -> Response[Any]:
    given = dict(request.query_params)
    if action in ("discard", "replay") and not filled(given, OF_LETTERS):  # all dead letters that exist now
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
        found = await database.ask(starting.ask, wanted.action, wanted.filter, **how)
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


stop_operation = does_to(verbs.stop_bulk, "/bulk/{operation_id:uuid}/stop", "stop", scope="operate")


def _wanted(request: ApiRequest, action: str | None, given: Mapping[str, Any], statuses: Sequence[str]) -> _Wanted:
    """Reads the action and the filter from a form. Raises InvalidInput, Unreadable, and Refused for another client."""
    if action not in _ACTIONS:
        raise InvalidInput(f"action must be one of {', '.join(_ACTIONS)}")
    chosen: tuple[str, ...] = ()
    if action == "backfill":
        asked = filled(given, ("job", "from", "to"))
        named = _times_filter(asked)
    elif action in _OF_EXECUTIONS:
        asked, chosen = filled(given, OF_EXECUTIONS), statuses_in(statuses)
        named = filter_of(ExecutionFilter, asked, statuses=chosen).as_json()
    else:
        asked = filled(given, OF_LETTERS)
        named = filter_of(DeadLetterFilter, asked).as_json()
    check_clients(grant_of(request), [asked.get("client")])
    return _Wanted(action, asked, chosen, named)


def _times_filter(asked: Mapping[str, str]) -> str:
    """Builds the filter of a backfill. Raises Unreadable."""
    job, start, end = (id_in("job", asked.get("job")), *(instant_in(name, asked.get(name)) for name in ("from", "to")))
    if job is None or start is None or end is None:
        raise Unreadable('a backfill needs "job", "from" and "to": give all three')
    return filter_json({"job": job, "start": start, "end": end})


async def _form(
    request: ApiRequest,
    database: Pooled,
    wanted: _Wanted,
    given: Mapping[str, str],
    *,
    fault: PgschedError | None = None,
) -> Response[Any]:
    """Renders the page with a filter, the number of matches, and the form for starting the operation."""
    within = COUNTED_WITHIN if request.query_params.get("count") == "on" else GLANCE
    counted = {"reschedule": "cancel", "discard": "replay"}.get(wanted.action, wanted.action)
    how: Any = {"dry_run": True, "counted_within": within}
    found: BulkAsked = await database.ask(starting.ask, counted, wanted.filter, **how)
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
        rate=given.get("rate") or request.query_params.get("rate") or _RATES[wanted.action],
        counts_on=None if found.complete or fault or "count" in request.query_params else link_to(request, count="on"),
    )


@shows("/jobs/{job_id:uuid}/backfill", scope="operate", form=True)
async def show_backfill_form(request: ApiRequest, job_id: JobId, database: Pooled) -> Response[Any]:
    """Asks for the time range of a backfill. ``/bulk/new`` then counts its instants."""
    job = await database.ask(executions_and_jobs.get_job, job_id)
    return html(request, "backfill_form.html", job=job, rate=_RATES["backfill"])
