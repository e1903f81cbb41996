"""Serving the API from a process of its own."""

import asyncio
import contextlib
import signal
import socket
from collections.abc import Callable, Iterator

import uvicorn

from pgsched.api.app import create_app
from pgsched.api.patience import patient
from pgsched.errors import InvalidSettings
from pgsched.events import Events
from pgsched.settings import Settings

_STOPS = (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT)


class _Server(uvicorn.Server):
    """Stops in an orderly way on SIGTERM and SIGINT, and then returns instead of raising the signal again."""

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
        self.force_exit = self.should_exit  # the second signal does not wait for requests
        self.should_exit = True


def serve(settings: Settings, *, events: Events | None = None, listening: Callable[[str], None] | None = None) -> None:
    """Serves until SIGTERM or SIGINT; requests under way get ``drain_timeout`` to end. Runs in the main thread.

    ``listening`` is called with the address, such as ``http://127.0.0.1:8080``, as soon as connections are accepted;
    with port 0 that is how to learn the port. Raises InvalidSettings when the address cannot be listened on.
    """
    config = uvicorn.Config(
        create_app(settings, events=events),
        http=patient(receiving=settings.receive_timeout, sending=settings.send_timeout),
        lifespan="on",
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=int(settings.drain_timeout),
    )
    with _listen(settings.host, settings.port) as listener:
        if listening is not None:
            listening(_address(settings.host, listener.getsockname()[1]))
        with asyncio.Runner(loop_factory=config.get_loop_factory()) as runner:
            runner.run(_Server(config).serve(sockets=[listener]))


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        raise InvalidSettings(f"cannot listen on {host} port {port}: {error.strerror or error}") from error


def _address(host: str, port: int) -> str:
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
