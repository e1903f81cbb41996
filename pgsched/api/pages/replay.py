"""What the pages do with a dead letter: replay it, as it was or changed, or discard it."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

import msgspec
from litestar import Request, Response

from pgsched.api.pages.content import as_fields, parsed, with_secrets, without_secrets
from pgsched.api.pages.filters import changed_fields
from pgsched.api.pages.forms import sent
from pgsched.api.pages.rendering import html
from pgsched.api.pages.routing import does, done, shows, status_for
from pgsched.api.parameters import Actor, ExecutionId, Pooled
from pgsched.errors import NotFound, PgschedError
from pgsched.store import verbs
from pgsched.store.lookup import listings
from pgsched.store.lookup.rows import DeadLetter


@shows("/executions/{execution_id:uuid}/replay", scope="operate", form=True)
async def show_replay(request: Request[Any, Any, Any], execution_id: ExecutionId, database: Pooled) -> Response[Any]:
    letter = await _letter(database, execution_id)
    return html(request, "replay.html", letter=letter, fields=_as_fields(letter), fault=None)


@does("/executions/{execution_id:uuid}/replay", scope="operate")
async def replay_execution(
    request: Request[Any, Any, Any], execution_id: ExecutionId, database: Pooled, actor: Actor
) -> Response[Any]:
    """As it was, or with what the form has changed of it."""
    form = await sent(request)
    note = form.get("note", "") or None
    letter = await _letter(database, execution_id)
    try:
        changes = _changes(letter, form)
        new = await database.ask(verbs.replay, execution_id, **changes, note=note, actor=actor)
    except PgschedError as error:
        if "target" not in form:  # the button alone
            raise
        given = {name: form.get(name, "") for name in _as_fields(letter)}
        return html(request, "replay.html", status=status_for(error), letter=letter, fields=given, fault=str(error))
    return done(f"/executions/{new}", "replay")


def _changes(letter: DeadLetter, form: Mapping[str, str]) -> dict[str, str | None]:
    """What differs from the dead letter. Raises Unreadable."""
    changed = changed_fields(form, _as_fields(letter))
    payload, options = changed.get("payload"), changed.get("options")
    if payload is not None:
        parsed("payload", payload := payload or "null")
    if options is not None:
        options = msgspec.json.encode(with_secrets(options or "{}", letter.options)).decode()
    return {"target": changed.get("target"), "payload": payload, "options": options}


async def _letter(database: Pooled, id: UUID) -> DeadLetter:
    found = await database.ask(listings.get_dead_letter, id)
    if found is None:
        raise NotFound(f"there is no dead letter {id}, or it is not of a client that you may see")
    return found


def _as_fields(letter: DeadLetter) -> dict[str, str]:
    found = {"target": letter.target}
    return found | as_fields(payload=letter.payload, options=without_secrets(letter.options))


@does("/executions/{execution_id:uuid}/discard", scope="operate")
async def discard_execution(execution_id: ExecutionId, database: Pooled, actor: Actor) -> Response[Any]:
    changed = await database.ask(verbs.discard, execution_id, note=None, actor=actor)
    return done(f"/executions/{execution_id}", "discard", changed=changed)
