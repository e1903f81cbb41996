"""The API's port: whether it is free, asked before anything else is started."""

import dataclasses
import socket

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
