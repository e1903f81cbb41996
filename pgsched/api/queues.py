"""The queues: made, set, paused and dropped."""

from typing import Annotated

import msgspec
from litestar import Response
from litestar.openapi.spec import Example
from litestar.params import Body, JSONBody, PathParameter

from pgsched.api.parameters import Actor, Noted, Pooled, note_in
from pgsched.api.routing import acts, makes, reads, removes, sets
from pgsched.api.settings import NewQueue, QueueSettings
from pgsched.store import verbs
from pgsched.store.admin import queues
from pgsched.store.admin.queues import QueueRow

QueueName = Annotated[str, PathParameter(max_length=63, description="A queue's name.")]
_ORDERS = Example(summary="At most 100,000 waiting", value={"name": "orders", "max_waiting": 100_000, "weight": 3})


class QueueList(msgspec.Struct, frozen=True, kw_only=True):
    """All queues, by name."""

    items: list[QueueRow]


class QueueChanged(msgspec.Struct, frozen=True, kw_only=True):
    """``changed`` is false when it was so before."""

    name: str
    changed: bool


@reads("/queues", "List queues")
async def list_queues(database: Pooled) -> QueueList:
    """waiting is counted up to 10,000."""
    return QueueList(items=await database.ask(queues.all_queues))


@reads("/queues/{name:str}", "Get a queue", 404)
async def get_queue(name: QueueName, database: Pooled) -> QueueRow:
    """waiting is counted up to 10,000."""
    return await database.ask(queues.get_queue, name)


@makes("/queues", "Create a queue", 409, scope="admin", everywhere=True)
async def create_queue(
    data: Annotated[NewQueue, Body(examples=[_ORDERS])], database: Pooled, actor: Actor
) -> Response[QueueRow]:
    """It accepts executions at once. Workers that are started with its name serve it."""
    async with database.connection() as connection, connection.transaction():
        await queues.create_queue(connection, data.name, data.changes(), actor=actor)
        made = await queues.get_queue(connection, data.name)
    return Response(made, headers={"Location": f"/v1/queues/{data.name}"})


@sets("/queues/{name:str}", "Change a queue's settings", 404, scope="admin", everywhere=True)
async def patch_queue(name: QueueName, data: JSONBody[QueueSettings], database: Pooled, actor: Actor) -> QueueRow:
    """Changes the given fields only; null means the default."""
    async with database.connection() as connection, connection.transaction():
        await queues.set_queue(connection, name, data.changes(), actor=actor)
        return await queues.get_queue(connection, name)


@removes("/queues/{name:str}", "Drop an empty queue", 404, 409, scope="admin", everywhere=True)
async def drop_queue(name: QueueName, database: Pooled, actor: Actor) -> QueueChanged:
    """Refused while something waits or runs in it, or a job belongs to it. Its history stays."""
    await database.ask(verbs.drop_queue, name, actor=actor)
    return QueueChanged(name=name, changed=True)


@acts("/queues/{name:str}/pause", "Pause a queue", 404, scope="admin", everywhere=True)
async def pause_queue(name: QueueName, database: Pooled, actor: Actor, data: Noted = None) -> QueueChanged:
    """Workers start nothing more from it; what they have in hand continues."""
    changed = await database.ask(verbs.pause, "queue", name, note=note_in(data), actor=actor)
    return QueueChanged(name=name, changed=changed)


@acts("/queues/{name:str}/resume", "Resume a queue", 404, scope="admin", everywhere=True)
async def resume_queue(name: QueueName, database: Pooled, actor: Actor, data: Noted = None) -> QueueChanged:
    changed = await database.ask(verbs.resume, "queue", name, note=note_in(data), actor=actor)
    return QueueChanged(name=name, changed=changed)
