"""*Dead letters*: lists executions that failed for good, grouped by reason; replays and discards them."""

from collections.abc import Mapping
from typing import Any

import msgspec
from litestar import Response

from pgsched.api.pages.forms import OF_LETTERS, Text, filled, filter_of, link_to, place, sent
from pgsched.api.pages.payload_display import as_fields, edited, without_secrets
from pgsched.api.pages.rendering import html
from pgsched.api.pages.routing import does, done, shows
from pgsched.api.pages.verb_forms import does_to
from pgsched.api.parameters import Actor, ExecutionId, Pooled, cursor, position
from pgsched.api.request_reading import ApiRequest
from pgsched.domain.states import LETTER_STATES
from pgsched.errors import InvalidInput, PgschedError
from pgsched.store import verbs
from pgsched.store.lookup import executions_and_jobs
from pgsched.store.lookup.filters import DeadLetterFilter
from pgsched.store.lookup.row_types import DeadLetter

_GROUPED = 1_000
"""The number of newest dead letters that are grouped by reason."""


@shows("/dead-letters", scope="read")
async def show_dead_letters(
    request: ApiRequest, database: Pooled, letter_state: Text = None, after: Text = None
) -> Response[Any]:
    chosen = letter_state or "open"
    if chosen not in LETTER_STATES:
        raise InvalidInput(f"there is no state {chosen!r}: choose one of {', '.join(LETTER_STATES)}")
    asked = filled(request.query_params, OF_LETTERS)
    wanted = filter_of(DeadLetterFilter, asked)
    async with database.page() as connection:
        how: Any = {"state": chosen, "limit": 50, "after": position(after or None)}
        found = await executions_and_jobs.list_dead_letters(connection, wanted, contents=False, **how)
        reasons = [] if after else await executions_and_jobs.reasons_of(connection, wanted, state=chosen, most=_GROUPED)
    return html(
        request,
        "dead_letters.html",
        rows=found.items,
        asked=asked,
        chosen=chosen,
        states=LETTER_STATES,
        reasons=reasons,
        grouped=sum(one.letters for one in reasons),
        most=_GROUPED,
        leads_to=lambda path, **changed: link_to(request, path, after=None, **changed),
        **place(request, after, cursor(found.next)),
    )


@shows("/executions/{execution_id:uuid}/replay", scope="operate", form=True)
async def show_replay(request: ApiRequest, execution_id: ExecutionId, database: Pooled) -> Response[Any]:
    letter = await database.ask(executions_and_jobs.get_dead_letter, execution_id)
    return html(request, "replay.html", letter=letter, fields=_as_fields(letter))


@does("/executions/{execution_id:uuid}/replay", scope="operate")
async def replay_execution(
    request: ApiRequest, execution_id: ExecutionId, database: Pooled, actor: Actor
) -> Response[Any]:
    """Replays a dead letter, with any changes in the form."""
    form = await sent(request)
    note = form.get("note", "") or None
    letter = await database.ask(executions_and_jobs.get_dead_letter, execution_id)
    try:
        changes = _changes(letter, form)
        new = await database.ask(verbs.replay, execution_id, **changes, note=note, actor=actor)
    except PgschedError as error:
        if "target" not in form:  # sent by the button, which has no form to show again
            raise
        given = {name: form.get(name, "") for name in _as_fields(letter)}
        return html(request, "replay.html", letter=letter, fields=given, fault=error)
    return done(f"/executions/{new}", "replay")


def _changes(letter: DeadLetter, form: Mapping[str, str]) -> dict[str, str | None]:
    """Returns the form's fields that differ from the dead letter. Raises Unreadable if a field is invalid."""
    found = edited(form, _as_fields(letter), letter.options)
    payload = bytes(found["payload"]).decode() if "payload" in found else None
    options = msgspec.json.encode(found["options"] or {}).decode() if "options" in found else None
    return {"target": found.get("target"), "payload": payload, "options": options}


def _as_fields(letter: DeadLetter) -> dict[str, str]:
    found = {"target": letter.target}
    return found | as_fields(payload=letter.payload, options=without_secrets(letter.options))


discard_execution = does_to(verbs.discard, "/executions/{execution_id:uuid}/discard", "discard", scope="operate")
