"""The routes for queues: create, change, pause and drop them."""

from typing import Annotated

import msgspec
from litestar import Response
from litestar.openapi.spec import Example
from litestar.params import Body, JSONBody, PathParameter
from msgspec import UNSET, Meta, UnsetType

from pgsched.api.parameters import Actor, ChangedSettings, Defaults, Pooled, Weight
from pgsched.api.pausing import pausable
from pgsched.api.routing import makes, reads, removes, sets
from pgsched.store import verbs
from pgsched.store.admin import queues
from pgsched.store.admin.queues import QueueRow

QueueName = Annotated[str, PathParameter(max_length=63, description="A queue's name.")]
_ORDERS = Example(summary="At most 100,000 waiting", value={"name": "orders", "max_waiting": 100_000, "weight": 3})


class QueueSettings(ChangedSettings, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Changes to a queue's settings. ``options`` is replaced as a whole."""

    options: Defaults | UnsetType | None = UNSET
    weight: Weight | UnsetType | None = UNSET
    max_waiting: Annotated[int, Meta(ge=1, le=100_000_000)] | UnsetType | None = UNSET


class NewQueue(QueueSettings, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A queue to create."""

    name: Annotated[str, Meta(pattern="^[a-z][a-z0-9_-]{0,62}$", examples=["orders"])]
    pulled: (
        Annotated[bool, Meta(description="Consumers claim from the queue; workers do not serve it.")] | UnsetType
    ) = UNSET


class QueueList(msgspec.Struct, frozen=True, kw_only=True):
    """All queues, sorted by name."""

    items: list[QueueRow]


class QueueChanged(msgspec.Struct, frozen=True, kw_only=True):
    """``changed`` is false if nothing changed."""

    name: str
    changed: bool


@reads("/queues", "List queues")
async def list_queues(database: Pooled) -> QueueList:
    """The count in ``waiting`` stops at 10,000."""
    return QueueList(items=await database.ask(queues.all_queues))


@reads("/queues/{name:str}", "Get a queue", 404)
async def get_queue(name: QueueName, database: Pooled) -> QueueRow:
    """The count in ``waiting`` stops at 10,000."""
    return await database.ask(queues.get_queue, name)


@makes("/queues", "Create a queue", 409, scope="admin", everywhere=True)
async def create_queue(
    data: Annotated[NewQueue, Body(examples=[_ORDERS])], database: Pooled, actor: Actor
) -> Response[QueueRow]:
    """The queue accepts executions immediately. Workers serve it only if they are started with its name."""
    async with database.connection() as connection, connection.transaction():
        await verbs.create_queue(connection, data.name, data.changes(), actor=actor)
        made = await queues.get_queue(connection, data.name)
    return Response(made, headers={"Location": f"/v1/queues/{data.name}"})


@sets("/queues/{name:str}", "Change a queue's settings", 404, scope="admin", everywhere=True)
async def patch_queue(name: QueueName, data: JSONBody[QueueSettings], database: Pooled, actor: Actor) -> QueueRow:
    """Changes only the given fields; null restores the default."""
    async with database.connection() as connection, connection.transaction():
        await verbs.set_queue(connection, name, data.changes(), actor=actor)
        return await queues.get_queue(connection, name)


@removes("/queues/{name:str}", "Drop an empty queue", 404, 409, scope="admin", everywhere=True)
async def drop_queue(name: QueueName, database: Pooled, actor: Actor) -> QueueChanged:
    """A queue cannot be dropped while an execution waits or runs in it, or a job belongs to it. The queue's history
    stays."""
    await database.ask(verbs.drop_queue, name, actor=actor)
    return QueueChanged(name=name, changed=True)


pause_queue, resume_queue = pausable(
    "queue",
    "/queues/{name:str}",
    QueueName,
    QueueChanged,
    404,
    pauses="Workers start no further executions from the queue; executions already claimed continue.",
    scope="admin",
    everywhere=True,
)
