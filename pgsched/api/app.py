"""The application: its routes, its errors, its description, and the pool that lives as long as it does."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

from litestar import Litestar, Router
from litestar.di import Provide
from litestar.exceptions import HTTPException
from litestar.openapi import OpenAPIConfig

from pgsched.api import (
    backfills,
    clients,
    creation,
    dead_letters,
    edits,
    executions,
    health,
    jobs,
    limits,
    methods,
    ordering_keys,
    pulls,
    queues,
    replays,
    targets,
)
from pgsched.api.arrivals import Arrivals
from pgsched.api.database import Database
from pgsched.api.description import Description, name_of
from pgsched.api.problems import failed, refused, refused_by_litestar
from pgsched.api.requests import ApiRequest, check_request
from pgsched.errors import InvalidSettings, PgschedError
from pgsched.events import Events
from pgsched.settings import Settings
from pgsched.version import __version__

LARGEST_REQUEST = 2 * 1024 * 1024
"""Bytes of a request's body."""

_ROUTES = [
    creation.create,
    jobs.list_jobs,
    jobs.get_job,
    jobs.cancel_job,
    jobs.pause,
    jobs.resume,
    jobs.pause_all,
    jobs.resume_all,
    jobs.cancel_all,
    jobs.trigger,
    jobs.job_executions,
    backfills.start_backfill,
    backfills.job_backfills,
    backfills.get_backfill,
    backfills.cancel_backfill,
    edits.edit_job,
    edits.preview_edit,
    edits.preview_spec,
    executions.list_executions,
    executions.get_execution,
    executions.cancel_execution,
    executions.reschedule,
    pulls.claim,
    pulls.complete,
    pulls.fail,
    pulls.extend,
    pulls.release,
    dead_letters.list_dead_letters,
    dead_letters.get_dead_letter,
    dead_letters.replay,
    dead_letters.discard,
    dead_letters.discard_all,
    replays.replay_all,
    replays.list_replays,
    replays.get_replay,
    replays.cancel_replay,
    clients.list_clients,
    clients.get_client,
    clients.put_client,
    clients.patch_client,
    clients.drop_client,
    clients.hold_client,
    clients.release_client,
    clients.rotate_secret,
    clients.drop_secret,
    queues.list_queues,
    queues.get_queue,
    queues.create_queue,
    queues.patch_queue,
    queues.drop_queue,
    queues.pause_queue,
    queues.resume_queue,
    limits.list_limits,
    limits.get_limit,
    limits.put_limit,
    limits.drop_limit,
    targets.list_sidelined,
    targets.sideline,
    targets.restore,
    ordering_keys.list_blocked,
    ordering_keys.unblock,
]


def create_app(settings: Settings, *, events: Events | None = None) -> Litestar:
    """The API as an ASGI application; it starts also while the database is away.

    Raises InvalidSettings when no database is set.
    """
    if settings.database_url is None:
        raise InvalidSettings("database_url is missing: set PGSCHED_DATABASE_URL or give --database-url")
    events = events or Events()
    database = Database(settings.database_url, events)
    arrivals = Arrivals(settings.database_url, database, events)

    options = methods.answering({path for handler in _ROUTES for path in handler.paths})

    @asynccontextmanager
    async def lifespan(_: Litestar) -> AsyncIterator[None]:
        await database.open()
        try:
            yield
        finally:
            await database.close()

    return Litestar(
        route_handlers=[
            Router("/v1", route_handlers=[options, *_ROUTES], before_request=check_request),
            health.alive,
            health.ready,
        ],
        dependencies={
            "database": Provide(lambda: database, sync_to_thread=False),
            "arrivals": Provide(lambda: arrivals, sync_to_thread=False),
        },
        lifespan=[lifespan],
        request_class=ApiRequest,
        request_max_body_size=LARGEST_REQUEST,
        exception_handlers={
            HTTPException: refused_by_litestar,
            PgschedError: refused,
            Exception: partial(failed, events),
        },
        openapi_config=OpenAPIConfig(
            title="pgsched",
            version=__version__,
            description="at and cron for a whole company, on the PostgreSQL it already runs.",
            operation_id_creator=name_of,
            render_plugins=[Description()],
        ),
        logging_config=None,
        debug=False,
    )
