"""The API's port: whether it is free before anything is started, and when it answers."""

import dataclasses
import socket
import threading
import time
from collections.abc import Callable

from pgsched.errors import Conflict, InvalidSettings
from pgsched.settings import Settings


def with_free_port(settings: Settings) -> Settings:
    """The settings with a port that can be listened on; 0 becomes a free one.

    Raises Conflict when the port is taken, InvalidSettings when the host is not an address of this machine.
    """
    host, port = settings.host, settings.port
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
            return dataclasses.replace(settings, port=probe.getsockname()[1])
    except socket.gaierror as error:
        raise InvalidSettings(f"host {host!r} is not an address: {error.strerror}") from None
    except OSError as error:
        raise Conflict(f"cannot listen on {host} port {port}: {error.strerror}; choose another --port") from None


def announced_when_listening(settings: Settings, announce: Callable[[], None]) -> None:
    """Calls ``announce`` from a thread of its own once the port accepts connections."""
    threading.Thread(target=_announce, args=(settings, announce), daemon=True).start()


def _announce(settings: Settings, announce: Callable[[], None]) -> None:
    while not _accepts(settings):
        time.sleep(0.02)
    announce()


def _accepts(settings: Settings) -> bool:
    try:
        socket.create_connection((settings.host, settings.port), timeout=1).close()
    except OSError:
        return False
    return True
