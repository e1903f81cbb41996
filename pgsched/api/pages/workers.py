"""*Workers*: what each serves, can deliver and has in hand; drained and resumed."""

from collections.abc import Sequence
from typing import Any

from litestar import Request, Response

from pgsched.api.pages.forms import sent
from pgsched.api.pages.rendering import html
from pgsched.api.pages.routing import does, done, shows
from pgsched.api.parameters import Actor, Pooled
from pgsched.api.workers import WorkerNumber
from pgsched.errors import NotFound
from pgsched.store import verbs
from pgsched.store.admin import worker_listing
from pgsched.store.admin.worker_listing import FormerWorker, WorkerRow
from pgsched.store.lookup.overview import QueueState, queue_states

_MOST, _MOST_FORMER = 50, 20


@shows("/workers", scope="admin", everywhere=True)
async def show_workers(request: Request[Any, Any, Any], database: Pooled) -> Response[Any]:
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
    """The workers that begin what is due in each queue."""
    begin = [row for row in rows if row.state == "active"]
    return {queue.name: [row.id for row in begin if queue.name in row.queues] for queue in queues}


def _left(request: Request[Any, Any, Any], _error: Exception, former: Sequence[FormerWorker] = ()) -> Response[Any]:
    return html(request, "worker_left.html", status=404, worker=request.path_params["worker"], former=former)


_OF_ONE: Any = {"scope": "admin", "everywhere": True, "exception_handlers": {NotFound: _left}}


@shows("/workers/{worker:int}", **_OF_ONE)
async def show_worker(request: Request[Any, Any, Any], worker: WorkerNumber, database: Pooled) -> Response[Any]:
    async with database.page() as connection:
        try:
            row = await worker_listing.get_worker(connection, worker)
        except NotFound as error:
            return _left(request, error, await worker_listing.former_workers(connection, worker, limit=1))
        held = await worker_listing.in_hand_of(connection, worker, limit=_MOST)
    return html(request, "worker.html", row=row, held=held)


@does("/workers/{worker:int}/drain", **_OF_ONE)
async def drain_worker_of_page(
    request: Request[Any, Any, Any], worker: WorkerNumber, database: Pooled, actor: Actor
) -> Response[Any]:
    note = (await sent(request)).get("note") or None
    changed = await database.ask(verbs.pause, "worker", str(worker), note=note, actor=actor)
    return done(f"/workers/{worker}", "drain", changed=changed)


@does("/workers/{worker:int}/resume", **_OF_ONE)
async def resume_worker_of_page(worker: WorkerNumber, database: Pooled, actor: Actor) -> Response[Any]:
    changed = await database.ask(verbs.resume, "worker", str(worker), note=None, actor=actor)
    return done(f"/workers/{worker}", "resume", changed=changed)
