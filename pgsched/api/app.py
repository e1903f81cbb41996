"""Assembles the application: routes, error handlers, OpenAPI description and the connection pool."""

from collections.abc import Iterable
from functools import partial
from types import ModuleType
from typing import Any

from litestar import Litestar, Response, Router
from litestar.datastructures import State
from litestar.exceptions import HTTPException
from litestar.handlers import HTTPRouteHandler
from litestar.openapi import OpenAPIConfig
from litestar.openapi.spec import Components, SecurityScheme

from pgsched.api import (
    audit,
    batch,
    bulk,
    clients,
    dead_letters,
    doctor,
    events,
    executions,
    gates,
    health,
    jobs,
    keys,
    metrics,
    pull,
    queues,
    recovery,
    schedule,
    stats,
    workers,
)
from pgsched.api.access import PUBLIC, SCOPE
from pgsched.api.connection_pool import WAIT
from pgsched.api.description import Description, name_of
from pgsched.api.pages import audit as audit_page
from pgsched.api.pages import bulk as bulk_pages
from pgsched.api.pages import clients as client_pages
from pgsched.api.pages import database as database_page
from pgsched.api.pages import dead_letters as dead_letter_pages
from pgsched.api.pages import executions as execution_pages
from pgsched.api.pages import gates as gate_pages
from pgsched.api.pages import jobs as job_pages
from pgsched.api.pages import now, sign_in_and_static_files
from pgsched.api.pages import queues as queue_pages
from pgsched.api.pages import workers as worker_pages
from pgsched.api.pages.routing import refused as refused_page
from pgsched.api.pages.routing import refused_by_litestar as page_refused_by_litestar
from pgsched.api.parts import Parts
from pgsched.api.problems import AnyRequest, failed, refused, refused_by_litestar
from pgsched.api.request_reading import ApiRequest, Application, check_query, check_request
from pgsched.api.routing import answering
from pgsched.errors import InvalidSettings, PgschedError
from pgsched.settings import Settings
from pgsched.telemetry import Events
from pgsched.version import __version__

_SCHEME = "key"
_KEYS = "A key (psk_…) created by pgsched admin keys create; or a token of a provider named in the setting oidc."
LARGEST_REQUEST = 2 * 1024 * 1024
"""The largest request body, in bytes."""

_ROOMS = (
    schedule,
    batch,
    jobs,
    bulk,
    executions,
    events,
    pull,
    dead_letters,
    clients,
    queues,
    workers,
    gates,
    keys,
    audit,
    doctor,
    recovery,
    stats,
)
_PAGES = (
    sign_in_and_static_files,
    now,
    execution_pages,
    bulk_pages,
    job_pages,
    dead_letter_pages,
    client_pages,
    gate_pages,
    queue_pages,
    worker_pages,
    database_page,
    audit_page,
)


def _handlers(rooms: Iterable[ModuleType]) -> list[HTTPRouteHandler]:
    return [route for room in rooms for route in vars(room).values() if isinstance(route, HTTPRouteHandler)]


_ROUTES = _handlers(_ROOMS)
_OPTIONS = answering({path for handler in _ROUTES for path in handler.paths})
_UNVERSIONED = Router(
    "/",
    route_handlers=[
        answering({"/healthz", "/readyz", "/metrics"}),
        health.alive,
        health.ready,
        metrics.show_metrics,
    ],
)
_VERSIONED = Router("/v1", route_handlers=[_OPTIONS, *_ROUTES], before_request=check_request)
_SHOWN = _handlers(_PAGES)
_DASHBOARD = Router(
    "/",
    route_handlers=[answering({path for handler in _SHOWN for path in handler.paths}), *_SHOWN],
    before_request=check_query,
    exception_handlers={HTTPException: page_refused_by_litestar, PgschedError: refused_page},
)


def create_app(settings: Settings, *, events: Events | None = None, wait: float = WAIT) -> Litestar:
    """Builds the API as an ASGI application, which can start while the database is unreachable. ``wait`` is the maximum
    number of seconds that a request waits for a connection. Raises InvalidSettings if no database is set."""
    if settings.database_url is None:
        raise InvalidSettings("database_url is missing: set PGSCHED_DATABASE_URL or give --database-url")
    events = events or Events()
    parts = Parts(settings, settings.database_url, events, wait=wait)
    return Application(
        route_handlers=[_VERSIONED, _UNVERSIONED, *([_DASHBOARD] if parts.has_pages else [])],
        dependencies=parts.dependencies(),
        guards=[parts.guard.admit],
        lifespan=[parts.living],
        state=State({"parts": parts}),
        request_class=ApiRequest,
        request_max_body_size=LARGEST_REQUEST,
        exception_handlers={
            HTTPException: _refused_before_a_route,
            PgschedError: refused,
            Exception: partial(failed, events),
        },
        openapi_config=_described(),
        logging_config=None,
        debug=False,
    )


def _refused_before_a_route(request: AnyRequest, error: HTTPException) -> Response[Any]:
    """Returns the response to a request that Litestar refused: a page if the client accepts HTML and the path is not
    under ``/v1``, otherwise a problem document."""
    wants_page = "text/html" in request.headers.get("accept", "") and not request.url.path.startswith("/v1/")
    shown = wants_page and request.app.state.parts.has_pages
    return page_refused_by_litestar(request, error) if shown else refused_by_litestar(request, error)


def _described() -> OpenAPIConfig:
    return OpenAPIConfig(
        title="pgsched",
        version=__version__,
        description="at and cron for a whole company, on the PostgreSQL it already runs.",
        operation_id_creator=name_of,
        use_handler_docstrings=True,
        render_plugins=[Description()],
        openapi_router=Router("/schema", route_handlers=[], opt={SCOPE: PUBLIC}, include_in_schema=False),
        components=Components(
            security_schemes={_SCHEME: SecurityScheme(type="http", scheme="bearer", description=_KEYS)}
        ),
        security=[{_SCHEME: []}],
    )
