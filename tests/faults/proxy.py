"""A network between two programs that can be cut, stalled and slowed down."""

import socket
import threading
import time
from contextlib import suppress

PASS, CUT, SILENT, SLOW, TRICKLE = "pass", "cut", "silent", "slow", "trickle"
_LATE = 0.1
_CHUNK = 65_536


class Proxy:
    """Forwards connections to ``port``. ``state`` is one of the above: cut ends sessions and refuses new ones; silent
    keeps them open and passes nothing; slow delays each chunk by a tenth of a second; trickle sends byte by byte."""

    def __init__(self, port: int) -> None:
        self._to, self._open = port, set[socket.socket]()
        self._state = PASS
        self._listening = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port = self._listening.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def state(self) -> str:
        return self._state

    @state.setter
    def state(self, state: str) -> None:
        self._state = state
        if state == CUT:
            self._end_all()

    def close(self) -> None:
        self._listening.close()
        self._end_all()

    def _end_all(self) -> None:
        for one in list(self._open):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        with suppress(OSError):  # until it is closed
            while True:
                near, _ = self._listening.accept()
                if self._state == CUT or not self._join(near):
                    near.close()

    def _join(self, near: socket.socket) -> bool:
        """Connects to the other side. Returns False if it refuses."""
        try:
            far = socket.create_connection(("127.0.0.1", self._to))
        except OSError:
            return False
        for one in (near, far):
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._open.add(one)
        for pair in ((near, far), (far, near)):
            threading.Thread(target=self._pass, args=pair, daemon=True).start()
        return True

    def _pass(self, source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(_CHUNK):
                while self._state == SILENT:
                    time.sleep(0.02)
                self._send(sink, data)
        for one in (source, sink):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
        self._open.discard(source)
        source.close()

    def _send(self, sink: socket.socket, data: bytes) -> None:
        if self._state == SLOW:
            time.sleep(_LATE)
        if self._state == TRICKLE:
            for byte in data:
                sink.send(bytes([byte]))
        else:
            sink.sendall(data)
