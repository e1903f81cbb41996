"""Sends callbacks through the proxy given by the setting ``proxy``. Proxy variables in the environment are ignored.

For ``https:`` targets, the proxy opens a tunnel (CONNECT), and TLS is established with the target itself. For ``http:``
targets, the proxy gets a request for the whole URL. The proxy resolves host names, and decides which hosts may be
reached. Only numeric addresses and ``localhost`` are checked here.
"""

import asyncio
import base64
import ipaddress
import re
import socket
import ssl
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

from pgsched.delivery.egress import Egress
from pgsched.delivery.exchange import DeliveryFailed
from pgsched.delivery.opener import Opener
from pgsched.delivery.url import Origin, Url
from pgsched.errors import InvalidSettings

WANTS_CREDENTIALS = 407
_LONGEST_HEAD = 16_384
_PIECE = 4_096
_STATUS = re.compile(rb"HTTP/1\.[0-9] +([0-9]{3}) ?([^\r\n]{0,200})")


@dataclass(frozen=True, slots=True)
class Proxy:
    """The address of a proxy, and the header line (possibly empty) with the proxy's credentials."""

    host: str
    port: int
    line: str = field(repr=False)

    def asked_for(self, url: Url) -> Url:
        """Returns the URL to put in the request."""
        if url.origin.tls:
            return url
        return url._replace(path=f"http://{url.authority}{url.path}")

    def hop(self, url: Url) -> str:
        """Returns the header line for the proxy, or an empty string if the proxy does not see the request."""
        return "" if url.origin.tls else self.line


class Tunneller(Opener):
    """Opens connections to targets through the proxy."""

    def __init__(self, egress: Egress, proxy: Proxy, *, tls: ssl.SSLContext | None = None) -> None:
        super().__init__(egress, tls=tls)
        self._proxy = proxy
        self._proxy_opener = Opener(_AnyAddress(allow_private=True))

    async def reach(self, origin: Origin, client: str) -> socket.socket:
        """Returns a socket that is connected to the target or, for ``http:`` targets, to the proxy."""
        _check_address(origin.host, self._egress)
        proxy = self._proxy
        sock = await self._proxy_opener.reach(Origin(False, proxy.host, proxy.port), "")
        if not origin.tls:
            return sock
        try:
            await self._open_tunnel(sock, origin)
        except BaseException:
            sock.close()
            raise
        return sock

    def close(self) -> None:
        super().close()
        self._proxy_opener.close()

    async def _open_tunnel(self, sock: socket.socket, origin: Origin) -> None:
        loop = asyncio.get_running_loop()
        host = f"[{origin.host}]" if ":" in origin.host else origin.host
        asked = f"CONNECT {host}:{origin.port} HTTP/1.1\r\nHost: {host}:{origin.port}\r\n{self._proxy.line}\r\n"
        await loop.sock_sendall(sock, asked.encode("ascii"))
        head = bytearray()
        while head.find(b"\r\n\r\n", max(len(head) - _PIECE - 3, 0)) < 0:
            piece = await loop.sock_recv(sock, _PIECE)
            head += piece
            if not piece or len(head) > _LONGEST_HEAD:
                raise DeliveryFailed(f"the proxy opened no tunnel to {host}:{origin.port} and gave no reason")
        found = _STATUS.match(bytes(head))
        if found is None or not 200 <= int(found[1]) < 300:
            said = b" ".join(found.groups()) if found else bytes(head[:200])
            raise DeliveryFailed(
                f"the proxy opened no tunnel to {host}:{origin.port}: {said.decode('utf-8', 'replace').strip()}"
            )


def parse_proxy(text: str) -> Proxy:
    """Parses ``http://[user:password@]host[:port]``. Raises InvalidSettings, without the password in the message, if
    the text has another form."""
    try:
        parts = urlsplit(text)
        host, port = parts.hostname, parts.port or 3128
    except ValueError:
        host, parts, port = None, urlsplit(""), 0
    if parts.scheme != "http" or not host or parts.path not in ("", "/") or parts.query or parts.fragment:
        raise InvalidSettings("proxy must have the form http://host:port or http://user:password@host:port")
    line = ""
    if parts.username is not None:
        said = f"{unquote(parts.username)}:{unquote(parts.password or '')}".encode()
        line = f"Proxy-Authorization: Basic {base64.b64encode(said).decode('ascii')}\r\n"
    return Proxy(host, port, line)


class _AnyAddress(Egress):
    """Allows every address, because the operator chose the proxy."""

    def check(self, address: str) -> None:
        """Allows the address."""


def _check_address(host: str, egress: Egress) -> None:
    """Raises AddressRefused for a numeric address, in any spelling, to which callbacks may not connect. Treats
    ``localhost`` and names that end in it as this machine."""
    name = host.lower().removesuffix(".")
    if name == "localhost" or name.endswith(".localhost"):
        egress.check("127.0.0.1")
    try:
        address = str(ipaddress.ip_address(name))
    except ValueError:
        try:
            address = socket.inet_ntoa(socket.inet_aton(name))
        except OSError:
            return
    egress.check(address)
