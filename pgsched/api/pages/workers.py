"""*Workers*: what each serves, can deliver and has in hand; drained and resumed."""

from typing import Any

from litestar import Request, Response

from pgsched.api.pages.forms import sent
from pgsched.api.pages.rendering import html
from pgsched.api.pages.routing import does, done, shows
from pgsched.api.parameters import Actor, Pooled
from pgsched.api.workers import WorkerNumber
from pgsched.store.admin import draining

_MOST = 50


@shows("/workers", scope="admin", everywhere=True)
async def show_workers(request: Request[Any, Any, Any], database: Pooled) -> Response[Any]:
    async with database.page() as connection:
        rows = await draining.all_workers(connection)
    return html(request, "workers.html", rows=rows, releases={row.release for row in rows})


@shows("/workers/{worker:int}", scope="admin", everywhere=True)
async def show_worker(request: Request[Any, Any, Any], worker: WorkerNumber, database: Pooled) -> Response[Any]:
    async with database.page() as connection:
        row = await draining.get_worker(connection, worker)
        held = await draining.in_hand_of(connection, worker, limit=_MOST)
    return html(request, "worker.html", row=row, held=held)


@does("/workers/{worker:int}/drain", scope="admin", everywhere=True)
async def drain_worker_of_page(
    request: Request[Any, Any, Any], worker: WorkerNumber, database: Pooled, actor: Actor
) -> Response[Any]:
    note = (await sent(request)).get("note") or None
    changed = await database.ask(draining.drain_worker, worker, note=note, actor=actor)
    return done(f"/workers/{worker}", "drain", changed=changed)


@does("/workers/{worker:int}/resume", scope="admin", everywhere=True)
async def resume_worker_of_page(worker: WorkerNumber, database: Pooled, actor: Actor) -> Response[Any]:
    changed = await database.ask(draining.resume_worker, worker, note=None, actor=actor)
    return done(f"/workers/{worker}", "resume", changed=changed)
