"""The routes for workers: list, pause and resume them."""

from typing import Annotated

import msgspec
from litestar.params import PathParameter

from pgsched.api.parameters import Pooled
from pgsched.api.pausing import pausable
from pgsched.api.routing import reads
from pgsched.store.admin import worker_listing
from pgsched.store.admin.worker_listing import WorkerRow

WorkerNumber = Annotated[int, PathParameter(ge=1, le=2**31 - 1, description="A worker's number.")]


class WorkerList(msgspec.Struct, frozen=True, kw_only=True):
    """All workers, in the order in which they registered."""

    items: list[WorkerRow]


class WorkerChanged(msgspec.Struct, frozen=True, kw_only=True):
    """``changed`` is false if nothing changed."""

    id: int
    changed: bool


@reads("/workers", "List workers", scope="admin", everywhere=True)
async def list_workers(database: Pooled) -> WorkerList:
    """``in_hand`` covers only the 250 oldest due executions of each partition; if ``cut`` is true, there may be
    more."""
    async with database.page() as connection:
        return WorkerList(items=await worker_listing.all_workers(connection))


@reads("/workers/{worker:int}", "Get a worker", 404, scope="admin", everywhere=True)
async def get_worker(worker: WorkerNumber, database: Pooled) -> WorkerRow:
    async with database.page() as connection:
        return await worker_listing.get_worker(connection, worker)


pause_worker, resume_worker = pausable(
    "worker",
    "/workers/{worker:int}",
    WorkerNumber,
    WorkerChanged,
    404,
    pauses="The worker starts no further executions, finishes those in hand, and then stays idle until it is "
    "stopped or resumed. Other workers take over its share.",
    scope="admin",
    everywhere=True,
)
