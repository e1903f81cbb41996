"""Faults between workers, API and database, and between workers and their targets."""

import socket
import struct
import time
from collections.abc import Iterator

from tests.faults.fault import PROXY, fault
from tests.faults.proxy import CUT, PASS, SILENT, SLOW, TRICKLE
from tests.faults.site import Site

_UNKNOWN_ANSWER = "calls whose answer was lost are repeated"
_NO_ANSWER = "no answer within 5 s"


def _network(site: Site, state: str) -> Iterator[None]:
    assert site.proxy is not None
    site.proxy.state = state
    yield
    site.proxy.state = PASS


@fault(within=3, needs=PROXY)
def network_cut(site: Site) -> Iterator[None]:
    yield from _network(site, CUT)


@fault(seconds=15, needs=PROXY)
def network_silent(site: Site) -> Iterator[None]:
    """Sessions are half open: neither end is notified."""
    yield from _network(site, SILENT)


@fault(seconds=10, needs=PROXY)
def network_slow(site: Site) -> Iterator[None]:
    yield from _network(site, SLOW)


@fault(seconds=10, needs=PROXY)
def network_trickles(site: Site) -> Iterator[None]:
    yield from _network(site, TRICKLE)


# A 2xx would count, whatever follows its head.
def _hang(connection: socket.socket) -> None:
    time.sleep(30)


def _stream(connection: socket.socket) -> None:
    connection.sendall(b"HTTP/1.1 500 Error\r\ntransfer-encoding: chunked\r\n\r\n")
    for _ in range(3000):
        connection.sendall(b"1\r\nx\r\n")
        time.sleep(0.01)


def _reset(connection: socket.socket) -> None:
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def _close_early(connection: socket.socket) -> None:
    connection.sendall(b"HTTP/1.1 500 Error\r\ncontent-length: 100\r\n\r\nhalf")


_BEHAVIOURS = _hang, _stream, _reset, _close_early


@fault(promised=_UNKNOWN_ANSWER, seconds=0, repeats=_NO_ANSWER)
def receivers_misbehave(site: Site) -> Iterator[None]:
    """Receivers in turn hang, stream endlessly, reset the connection, and close it in the middle of an answer."""
    for behaviour in _BEHAVIOURS:
        site.load.receiver.behave = behaviour
        time.sleep(3)
    yield
    site.load.receiver.behave = None
