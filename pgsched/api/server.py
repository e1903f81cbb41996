"""Runs the API as a server process."""

import asyncio
import contextlib
import resource
import signal
import socket
from collections.abc import Callable, Iterator
from typing import Any, cast

import psycopg
import uvicorn
from litestar import Litestar

from pgsched.api.app import create_app
from pgsched.api.http_connections import MOST, Connections
from pgsched.api.middleware import limited
from pgsched.errors import InvalidSettings
from pgsched.service import collect_seldom
from pgsched.settings import Settings, is_loopback
from pgsched.store import internal_verbs
from pgsched.store.core.new_connection import transaction
from pgsched.store.core.session_settings import AS_API, locally
from pgsched.telemetry import Events

_OWN_DESCRIPTORS = 200
_IDLE = 130
"""The number of seconds without a request after which a connection is closed. Common proxies have lower limits (nginx
and AWS 60, Traefik 90, Caddy 120), so they close idle connections first. If the API closed a connection just as a POST
arrived, the POST would be lost, because proxies do not retry it."""
_STOPS = (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT)


class _Server(uvicorn.Server):
    """Shuts down gracefully on SIGTERM, SIGINT and SIGQUIT, and then returns instead of raising the signal again. Ends
    event streams, which would otherwise never end, and then waits for requests in flight."""

    def __init__(self, config: uvicorn.Config, end_streams: Callable[[], None]) -> None:
        super().__init__(config)
        self._end_streams = end_streams

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        loop = asyncio.get_running_loop()
        for stop in _STOPS:
            loop.add_signal_handler(stop, self._stop)
        try:
            yield
        finally:
            for stop in _STOPS:
                loop.remove_signal_handler(stop)

    def _stop(self) -> None:
        self.force_exit = self.should_exit  # after a second signal, the server does not wait for requests
        self.should_exit = True
        self._end_streams()


def serve(settings: Settings, *, events: Events | None = None, listening: Callable[[str], None] | None = None) -> None:
    """Serves until SIGTERM or SIGINT; requests in flight then have ``drain_timeout`` to end. Call this function in the
    main thread.

    Once connections are accepted, calls ``listening`` with the API's URL, such as ``http://127.0.0.1:8080``. If the
    port in the settings is 0, the URL has the port that the system chose. Raises InvalidSettings if the API cannot
    listen on the address, or if other machines could use the API without a key.
    """
    _check_keys(settings, events or Events())
    app = create_app(settings, events=events)
    config = config_of(app, settings)
    collect_seldom()
    with _listen(settings.host, settings.port) as listener:
        if listening is not None:
            listening(_address(settings.host, listener.getsockname()[1]))
        with asyncio.Runner(loop_factory=config.get_loop_factory()) as runner:
            runner.run(_Server(config, app.state.parts.feed.close).serve(sockets=[listener]))


def config_of(app: Litestar, settings: Settings) -> uvicorn.Config:
    """Returns the uvicorn configuration for the application, including limits and request counts."""
    connections = Connections(
        receive=settings.receive_timeout, send=settings.send_timeout, most=_connections_with_descriptors()
    )
    return uvicorn.Config(
        limited(app.state.parts.requests.around(app)),
        http=cast(Any, connections.protocol),
        timeout_keep_alive=_IDLE,
        lifespan="on",
        log_level="error",  # uvicorn warns only about what clients send
        log_config=None,
        ws="none",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=int(settings.drain_timeout),
    )


def _check_keys(settings: Settings, events: Events) -> None:
    """Checks that requests need a key or a token. If they need neither, emits an event on a loopback address, and
    raises InvalidSettings on any other. Does nothing if the database is unavailable, because the API then refuses all
    requests."""
    with contextlib.suppress(psycopg.Error), transaction(settings.database_url or "") as connection:
        connection.execute(locally(AS_API))
        if connection.execute(internal_verbs.has_keys.text()).fetchone() == (True,):
            return
        if settings.takes_tokens:
            return
        if not is_loopback(settings.host):
            raise InvalidSettings(
                f"there is no key, so anybody who can reach {settings.host} could do anything: create one with pgsched "
                "admin keys create, or listen on 127.0.0.1"
            )
        events.emit("api.open", host=settings.host)


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        raise InvalidSettings(f"cannot listen on {host} port {port}: {error.strerror or error}") from error


def _connections_with_descriptors() -> int:
    """Returns the number of connections for which there are file descriptors, besides those for the database and files.
    First raises the soft limit, which is often about 1000 although more are allowed."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST + _OWN_DESCRIPTORS
    if 0 <= soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return MOST if soft < 0 else max(min(MOST, soft - _OWN_DESCRIPTORS), 10)


def _address(host: str, port: int) -> str:
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
