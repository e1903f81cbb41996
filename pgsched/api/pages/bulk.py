"""Bulk changes: what a filter names is counted, then changed at a rate, shown and stopped."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

from litestar import Request, Response
from litestar.response import Redirect

from pgsched.api.access import check_clients, grant_of
from pgsched.api.bulk_changes import ChangeId
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
from pgsched.api.pages.forms import Text, link_to, sent, whole_in
from pgsched.api.pages.rendering import HEADERS, html
from pgsched.api.pages.routing import does, done, shows
from pgsched.api.paging import cursor, position
from pgsched.api.parameters import Actor, Pooled
from pgsched.domain.duration import parse_shift
from pgsched.errors import InvalidInput, PgschedError
from pgsched.store import verbs
from pgsched.store.ends import bulk_changes, dead_letters
from pgsched.store.ends.bulk_changes import COUNTED_WITHIN, ChangingMany, How
from pgsched.store.ends.dead_letters import Replaying
from pgsched.store.lookup.rows import ExecutionFilter

_OF_EXECUTIONS, _OF_LETTERS = ("cancel", "reschedule"), ("replay", "discard")
_RATES = {"cancel": 1000, "reschedule": 1000, "replay": 10}
GLANCE = 0.07
"""Seconds that a page counts for, unless whoever looks asks it to go on; a page may count twice."""


@shows("/executions/bulk", scope="operate", form=True)
async def count_executions(request: Request[Any, Any, Any], database: Pooled, verb: Text = None) -> Response[Any]:
    verb = _known(verb, _OF_EXECUTIONS)
    asked, chosen, wanted = _executions(request, request.query_params, request.query_params.getall("status", []))
    how = How(dry_run=True, counted_within=_seconds(request))
    return _form(request, verb, asked, await database.ask(bulk_changes.cancel_many, wanted, how), chosen=chosen)


@does("/executions/bulk", scope="operate")
async def change_executions(request: Request[Any, Any, Any], database: Pooled, actor: Actor) -> Response[Any]:
    form = await sent(request)
    verb = _known(form.get("verb"), _OF_EXECUTIONS)
    asked, chosen, wanted = _executions(request, form, [one for one in form.get("statuses", "").split(",") if one])
    how = How(
        rate=number_in("rate", form.get("rate"), _RATES[verb]),
        note=form.get("note") or None,
        actor=actor,
        counted_within=GLANCE,
    )
    try:
        if verb == "cancel":
            made = await database.ask(bulk_changes.cancel_many, wanted, how)
        else:
            fire_at, shift = instant_in("fire_at", form.get("fire_at")), form.get("shift")
            moved: Any = {"fire_at": fire_at, "shift": parse_shift(shift) if shift else None}
            made = await database.ask(bulk_changes.reschedule_many, wanted, how, **moved)
    except InvalidInput as error:
        counted = await database.ask(bulk_changes.cancel_many, wanted, replace(how, dry_run=True))
        return _form(request, verb, asked, counted, chosen=chosen, fault=error, given=form)
    return _begun(made)


@shows("/dead-letters/bulk", scope="operate", form=True)
async def count_letters(request: Request[Any, Any, Any], database: Pooled, verb: Text = None) -> Response[Any]:
    verb = _known(verb, _OF_LETTERS)
    asked = filled(request.query_params, OF_LETTERS)
    if not asked:  # all there are by now
        asked = {"to": (await database.ask(verbs.now)).strftime("%Y-%m-%dT%H:%M:%SZ")}
    return _form(request, verb, asked, await _counted(request, database, asked))


@does("/dead-letters/bulk", scope="operate")
async def change_letters(request: Request[Any, Any, Any], database: Pooled, actor: Actor) -> Response[Any]:
    form = await sent(request)
    verb, asked = _known(form.get("verb"), _OF_LETTERS), filled(form, OF_LETTERS)
    wanted, note = letter_filter(asked), form.get("note") or None
    check_clients(grant_of(request), [wanted.client])
    if verb == "discard":
        gone = await database.ask(dead_letters.discard_all, wanted, note=note, actor=actor)
        before = whole_in("discarded", form.get("discarded")) or 0
        query = urlencode({**asked, "verb": verb, "discarded": before + gone.discarded})
        return Redirect(f"/dead-letters/bulk?{query}", status_code=303, headers=HEADERS)
    rate = number_in("rate", form.get("rate"), _RATES[verb])
    how: Any = {"rate": rate, "target": form.get("new_target") or None, "counted_within": GLANCE}
    try:
        made = await database.ask(dead_letters.replay_all, wanted, dry_run=False, note=note, actor=actor, **how)
    except InvalidInput as error:
        return _form(request, verb, asked, await _counted(request, database, asked), fault=error, given=form)
    return _begun(made)


@shows("/bulk-changes", scope="read")
async def show_changes(request: Request[Any, Any, Any], database: Pooled, after: Text = None) -> Response[Any]:
    found = await database.ask(bulk_changes.list_bulk_changes, limit=51, after=position(after or None))
    more = link_to(request, after=cursor(found[49].id)) if len(found) > 50 else None
    return html(request, "bulk_changes.html", rows=found[:50], more=more, begins=not after)


@shows("/bulk-changes/{change_id:uuid}", scope="read")
async def show_change(
    request: Request[Any, Any, Any], change_id: ChangeId, database: Pooled, of: Text = None
) -> Response[Any]:
    """``of`` is how many it was when it was asked for."""
    row = await database.ask(bulk_changes.get_bulk_change, change_id)
    return html(request, "bulk_change.html", row=row, total=whole_in("of", of))


@does("/bulk-changes/{change_id:uuid}/cancel", scope="operate")
async def cancel_change(change_id: ChangeId, database: Pooled, actor: Actor) -> Response[Any]:
    changed = await database.ask(verbs.cancel_bulk_change, change_id, actor=actor)
    return done(f"/bulk-changes/{change_id}", "stop", changed=changed)


def _begun(made: ChangingMany | Replaying) -> Redirect:
    """To the page of a change, which is told how many it is to change where all were counted."""
    return done(f"/bulk-changes/{made.id}{f'?of={made.matched}' if made.complete else ''}", "start")


def _seconds(request: Request[Any, Any, Any]) -> float:
    return COUNTED_WITHIN if request.query_params.get("count") == "on" else GLANCE


def _known(verb: str | None, verbs: tuple[str, ...]) -> str:
    if verb not in verbs:
        raise InvalidInput(f"verb: write one of {', '.join(verbs)}")
    return verb


def _executions(
    request: Request[Any, Any, Any], given: Mapping[str, Any], statuses: Sequence[str]
) -> tuple[dict[str, str], tuple[str, ...], ExecutionFilter]:
    """The fields, the statuses and what they name. Raises Unreadable, and Refused for another client."""
    asked, chosen = filled(given, OF_EXECUTIONS), statuses_in(statuses)
    wanted = execution_filter(asked, chosen)
    check_clients(grant_of(request), [wanted.client])
    return asked, chosen, wanted


async def _counted(request: Request[Any, Any, Any], database: Pooled, asked: Mapping[str, str]) -> ChangingMany:
    wanted = letter_filter(asked)
    check_clients(grant_of(request), [wanted.client])
    how: Any = {"rate": 1.0, "target": None, "note": None, "actor": None, "counted_within": _seconds(request)}
    found = await database.ask(dead_letters.replay_all, wanted, dry_run=True, **how)
    return ChangingMany(id=None, matched=found.matched, complete=found.complete)


def _form(
    request: Request[Any, Any, Any],
    verb: str,
    asked: Mapping[str, str],
    found: ChangingMany,
    *,
    chosen: tuple[str, ...] = (),
    fault: PgschedError | None = None,
    given: Mapping[str, str] | None = None,
) -> Response[Any]:
    """What a filter names, how many these are, and what is to be said before they are changed."""
    given = given or {}
    fields = {name: given.get(name, "") for name in ("note", "fire_at", "shift", "new_target")}
    return html(
        request,
        "bulk.html",
        status=200 if fault is None else 422,
        verb=verb,
        asked=asked,
        chosen=chosen,
        found=found,
        fault=None if fault is None else str(fault),
        fields=fields,
        rate=given.get("rate") or _RATES.get(verb),
        counts_on=None if found.complete or fault or "count" in request.query_params else link_to(request, count="on"),
        discarded=whole_in("discarded", request.query_params.get("discarded")),
    )
