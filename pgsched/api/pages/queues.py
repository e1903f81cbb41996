"""*Queues*: each queue's backlog and settings, and forms for changing, pausing and resuming it."""

from typing import Any

from litestar import Response
from litestar.params import FromPath

from pgsched.api.pages.forms import sent, struct_of
from pgsched.api.pages.rendering import html
from pgsched.api.pages.routing import does, done, shows
from pgsched.api.pages.verb_forms import changes
from pgsched.api.parameters import Actor, Pooled
from pgsched.api.queues import QueueSettings
from pgsched.api.request_reading import ApiRequest
from pgsched.store import verbs
from pgsched.store.admin import queues
from pgsched.store.lookup.overview import queue_states


@shows("/queues", scope="read")
async def show_queues(request: ApiRequest, database: Pooled) -> Response[Any]:
    async with database.page() as connection:
        rows = await queues.all_queues(connection)
        stalls = {one.name: one.stall for one in await queue_states(connection) if one.stall}
    return html(request, "queues.html", rows=rows, stalls=stalls)


_PAUSING: Any = {"field": "name", "page": "/queues", "scope": "admin", "everywhere": True}
pause_queue = changes(verbs.pause, "queue", "/queues/{name:str}/pause", "pause", **_PAUSING)
resume_queue = changes(verbs.resume, "queue", "/queues/{name:str}/resume", "resume", **_PAUSING)


@does("/queues/{name:str}/settings", scope="admin", everywhere=True)
async def set_queue_of_page(request: ApiRequest, name: FromPath[str], database: Pooled, actor: Actor) -> Response[Any]:
    """Saves the settings in the form; an empty field restores the default."""
    settings = struct_of(QueueSettings, await sent(request), ("weight", "max_waiting"))
    changed = await database.ask(verbs.set_queue, name, settings.changes(), actor=actor)
    return done("/queues", "set", changed=changed)
