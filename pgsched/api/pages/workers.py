"""*Workers*: what each worker serves, can deliver and has in hand, and forms for draining and resuming it."""

from collections.abc import Sequence
from typing import Any

from litestar import Response

from pgsched.api.pages.rendering import html
from pgsched.api.pages.routing import shows
from pgsched.api.pages.verb_forms import changes
from pgsched.api.parameters import Pooled
from pgsched.api.request_reading import ApiRequest
from pgsched.api.workers import WorkerNumber
from pgsched.errors import NotFound
from pgsched.store import verbs
from pgsched.store.admin import worker_listing
from pgsched.store.admin.worker_listing import FormerWorker, WorkerRow
from pgsched.store.lookup.overview import QueueState, queue_states

_MOST, _MOST_FORMER = 50, 20


@shows("/workers", scope="admin", everywhere=True)
async def show_workers(request: ApiRequest, database: Pooled) -> Response[Any]:
    async with database.page() as connection:
        rows = await worker_listing.all_workers(connection)
        former = await worker_listing.former_workers(connection, limit=_MOST_FORMER)
        queues = await queue_states(connection)
    return html(
        request,
        "workers.html",
        rows=rows,
        former=former,
        releases={row.release for row in rows},
        handlers={row.id: sum(one.startswith("python:") for one in row.delivers) for row in rows},
        queues=queues,
        serving=_serving(queues, rows),
    )


def _serving(queues: Sequence[QueueState], rows: Sequence[WorkerRow]) -> dict[str, list[int]]:
    """Returns the ids of the active workers that serve each queue."""
    begin = [row for row in rows if row.state == "active"]
    return {queue.name: [row.id for row in begin if queue.name in row.queues] for queue in queues}


def _left(request: ApiRequest, _error: Exception, former: Sequence[FormerWorker] = ()) -> Response[Any]:
    return html(request, "worker_left.html", status=404, worker=request.path_params["worker"], former=former)


_OF_ONE: Any = {"scope": "admin", "everywhere": True, "exception_handlers": {NotFound: _left}}


@shows("/workers/{worker:int}", **_OF_ONE)
async def show_worker(request: ApiRequest, worker: WorkerNumber, database: Pooled) -> Response[Any]:
    async with database.page() as connection:
        try:
            row = await worker_listing.get_worker(connection, worker)
        except NotFound as error:
            return _left(request, error, await worker_listing.former_workers(connection, worker, limit=1))
        held = await worker_listing.in_hand_of(connection, worker, limit=_MOST)
    return html(request, "worker.html", row=row, held=held)


_PAUSING: Any = _OF_ONE | {"field": "worker", "page": "/workers/{worker}"}
drain_worker = changes(verbs.pause, "worker", "/workers/{worker:int}/drain", "drain", **_PAUSING)
resume_worker = changes(verbs.resume, "worker", "/workers/{worker:int}/resume", "resume", **_PAUSING)
