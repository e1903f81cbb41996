"""Bulk operations: what a filter names is counted, then changed at a rate, shown and stopped."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
from litestar import Request, Response

from pgsched.api.access import check_clients, grant_of
from pgsched.api.bulk import OperationId
from pgsched.api.pages.filters import (
    OF_EXECUTIONS,
    OF_LETTERS,
    execution_filter,
    filled,
    instant_in,
    letter_filter,
    number_in,
    statuses_in,
)
from pgsched.api.pages.forms import Text, link_to, sent
from pgsched.api.pages.rendering import html
from pgsched.api.pages.routing import does, done, shows
from pgsched.api.parameters import Actor, Pooled, cursor, position
from pgsched.domain.duration import parse_shift
from pgsched.errors import InvalidInput, PgschedError
from pgsched.store import verbs
from pgsched.store.bulk import operations
from pgsched.store.bulk.values import COUNTED_WITHIN, Action, BulkAsked

_OF_EXECUTIONS: tuple[Action, ...] = ("cancel", "reschedule")
_RATES = {"cancel": 1000, "reschedule": 1000, "discard": 1000, "replay": 10}
GLANCE = 0.07
"""Seconds that a page counts for, unless whoever looks asks it to go on; a page may count twice."""


class _Wanted(NamedTuple):
    """What is to be done, the fields and statuses that say to which, and the filter that they make."""

    action: Any
    asked: dict[str, str]
    chosen: tuple[str, ...]
    filter: str


@shows("/bulk/new", scope="operate", form=True)
async def count_first(request: Request[Any, Any, Any], database: Pooled, action: Text = None) -> Response[Any]:
    given = dict(request.query_params)
    if action not in _OF_EXECUTIONS and not filled(given, OF_LETTERS):  # all dead letters there are by now
        given["to"] = (await database.ask(verbs.now)).strftime("%Y-%m-%dT%H:%M:%SZ")
    wanted = _wanted(request, action, given, request.query_params.getall("status", []))
    return await _form(request, database, wanted, {})


@does("/bulk/new", scope="operate")
async def start_bulk_of_page(request: Request[Any, Any, Any], database: Pooled, actor: Actor) -> Response[Any]:
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
async def show_bulk(request: Request[Any, Any, Any], database: Pooled, after: Text = None) -> Response[Any]:
    found = await database.ask(operations.list_operations, limit=51, after=position(after or None))
    more = link_to(request, after=cursor(found[49].id)) if len(found) > 50 else None
    return html(request, "bulk.html", rows=found[:50], more=more, begins=not after)


@shows("/bulk/{operation_id:uuid}", scope="read")
async def show_operation(request: Request[Any, Any, Any], operation_id: OperationId, database: Pooled) -> Response[Any]:
    row = await database.ask(operations.get_operation, operation_id)
    return html(request, "bulk_operation.html", row=row, filter=msgspec.json.decode(row.filter))


@does("/bulk/{operation_id:uuid}/stop", scope="operate")
async def stop_operation(operation_id: OperationId, database: Pooled, actor: Actor) -> Response[Any]:
    changed = await database.ask(verbs.stop_bulk, operation_id, actor=actor)
    return done(f"/bulk/{operation_id}", "stop", changed=changed)


def _wanted(
    request: Request[Any, Any, Any], action: str | None, given: Mapping[str, Any], statuses: Sequence[str]
) -> _Wanted:
    """Raises InvalidInput, Unreadable, and Refused for another client."""
    if action not in _RATES:
        raise InvalidInput(f"action: write one of {', '.join(_RATES)}")
    asked, chosen = filled(given, OF_LETTERS), tuple[str, ...]()
    if action in _OF_EXECUTIONS:
        asked, chosen = filled(given, OF_EXECUTIONS), statuses_in(statuses)
    check_clients(grant_of(request), [asked.get("client")])
    named = execution_filter(asked, chosen) if action in _OF_EXECUTIONS else letter_filter(asked)
    return _Wanted(action, asked, chosen, named.as_json())


async def _form(
    request: Request[Any, Any, Any],
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
        status=200 if fault is None else 422,
        action=wanted.action,
        asked=wanted.asked,
        chosen=wanted.chosen,
        found=found,
        fault=None if fault is None else str(fault),
        fields=fields,
        rate=given.get("rate") or _RATES[wanted.action],
        counts_on=None if found.complete or fault or "count" in request.query_params else link_to(request, count="on"),
    )
