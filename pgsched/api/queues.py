"""The queues: made, set, paused and dropped."""

from typing import Annotated

import msgspec
from litestar import Response, delete, get, patch, post
from litestar.openapi.spec import Example
from litestar.params import Body, JSONBody, PathParameter

from pgsched.api.answers import problems
from pgsched.api.database import Pooled
from pgsched.api.jobs import actor
from pgsched.api.requests import ApiRequest, Note
from pgsched.api.settings import NewQueue, QueueSettings, note_in
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


@get("/queues", summary="List the queues", responses=problems())
async def list_queues(database: Pooled) -> QueueList:
    """waiting is counted up to 10,000."""
    async with database.connection() as connection:
        return QueueList(items=await queues.all_queues(connection))


@get("/queues/{name:str}", summary="One queue", responses=problems(400, 404))
async def get_queue(name: QueueName, database: Pooled) -> QueueRow:
    """waiting is counted up to 10,000."""
    async with database.connection() as connection:
        return await queues.get_queue(connection, name)


@post("/queues", summary="Make a queue", responses=problems(400, 403, 409, 413, 415, 422))
async def create_queue(
    request: ApiRequest, data: Annotated[NewQueue, Body(examples=[_ORDERS])], database: Pooled
) -> Response[QueueRow]:
    """It can be scheduled into at once. Workers serve it that are started with its name."""
    async with database.connection() as connection, connection.transaction():
        await queues.create_queue(connection, data.name, data.changes(), actor=actor(request))
        made = await queues.get_queue(connection, data.name)
    return Response(made, headers={"Location": f"/v1/queues/{data.name}"})


@patch("/queues/{name:str}", summary="Set something of a queue", responses=problems(400, 403, 404, 413, 415, 422))
async def patch_queue(
    request: ApiRequest, name: QueueName, data: JSONBody[QueueSettings], database: Pooled
) -> QueueRow:
    """Only what is named; null is the default."""
    async with database.connection() as connection, connection.transaction():
        await queues.set_queue(connection, name, data.changes(), actor=actor(request))
        return await queues.get_queue(connection, name)


@delete("/queues/{name:str}", status_code=200, summary="Drop an empty queue", responses=problems(400, 403, 404, 409))
async def drop_queue(request: ApiRequest, name: QueueName, database: Pooled) -> QueueChanged:
    """Refused while something waits or runs in it, or jobs are in it. Its history stays."""
    async with database.connection() as connection:
        await queues.drop_queue(connection, name, actor=actor(request))
    return QueueChanged(name=name, changed=True)


@post("/queues/{name:str}/pause", status_code=200, summary="Pause a queue", responses=problems(400, 403, 404, 415, 422))
async def pause_queue(
    request: ApiRequest, name: QueueName, database: Pooled, data: JSONBody[Note | None] = None
) -> QueueChanged:
    """Workers begin nothing more of it; what they have in hand goes on."""
    async with database.connection() as connection:
        changed = await queues.pause_queue(connection, name, note=note_in(data), actor=actor(request))
    return QueueChanged(name=name, changed=changed)


@post(
    "/queues/{name:str}/resume", status_code=200, summary="Resume a queue", responses=problems(400, 403, 404, 415, 422)
)
async def resume_queue(
    request: ApiRequest, name: QueueName, database: Pooled, data: JSONBody[Note | None] = None
) -> QueueChanged:
    async with database.connection() as connection:
        changed = await queues.resume_queue(connection, name, note=note_in(data), actor=actor(request))
    return QueueChanged(name=name, changed=changed)
