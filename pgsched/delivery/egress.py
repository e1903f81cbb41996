"""Decides which addresses callbacks may connect to.

Clients choose the URLs of callbacks, and workers run inside the network. Without a check, a callback could reach
internal hosts (SSRF). Checking names is not enough, because a name may resolve to another address later. So the
resolver drops forbidden addresses, and ``open_socket`` checks every address again immediately before the connection.
"""

import ipaddress
import socket
from typing import Any

from pgsched.delivery.exception_outcomes import FinalFailure

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
AddressInfo = tuple[int, int, int, str, tuple[Any, ...]]
"""Family, type, protocol, canonical name and socket address, as returned by the system's resolver."""


class AddressRefused(FinalFailure, OSError):
    """Callbacks may not connect to this address. An OSError, so that the next address is tried."""

    def __init__(self, address: str, reason: str) -> None:
        super().__init__(f"refused to call {address}: {reason}")


class Egress:
    """Checks addresses. ``allow_private`` allows private networks and this machine. Link-local, multicast, reserved and
    metadata addresses are always refused."""

    def __init__(self, *, allow_private: bool) -> None:
        self._allow_private = allow_private

    def check(self, address: str) -> None:
        """Raises AddressRefused unless callbacks may connect to this numeric address."""
        meant = _embedded(ipaddress.ip_address(address))
        if any(meant in network for network in _NEVER[meant.version]):
            raise AddressRefused(address, "link-local, metadata, multicast and reserved addresses are never called")
        if self._allow_private and any(meant in network for network in _PRIVATE[meant.version]):
            return
        if not _is_public(meant):
            raise AddressRefused(
                address,
                "the address is private; start the worker with --allow-private-targets to call private addresses",
            )

    def open_socket(self, info: AddressInfo) -> socket.socket:
        """Creates a socket for a connection to an address. Raises AddressRefused if the address is not allowed."""
        family, kind, protocol, _, address = info
        self.check(str(address[0]))
        return socket.socket(family=family, type=kind, proto=protocol)


def _embedded(address: Address) -> Address:
    """Returns the IPv4 address embedded in an IPv6 address, or else the address itself."""
    if isinstance(address, ipaddress.IPv4Address):
        return address
    if address in _NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour or address


def _is_public(address: Address) -> bool:
    """Whether an address is clearly public. For IPv6, it must be in the block of global unicast addresses."""
    if isinstance(address, ipaddress.IPv6Address) and address not in _GLOBAL_UNICAST:
        return False
    return address.is_global


def _networks(*texts: str) -> tuple[ipaddress.IPv4Network | ipaddress.IPv6Network, ...]:
    return tuple(ipaddress.ip_network(text) for text in texts)


_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_GLOBAL_UNICAST = ipaddress.IPv6Network("2000::/3")
_PRIVATE = {
    4: _networks("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "127.0.0.0/8"),
    6: _networks("fc00::/7", "::1/128"),
}
# Reserved blocks, and the addresses of cloud metadata services.
_NEVER = {
    4: _networks(
        "0.0.0.0/8", "169.254.0.0/16", "192.0.0.0/24", "224.0.0.0/4", "240.0.0.0/4",
        "100.100.100.200/32", "168.63.129.16/32",
    ),
    6: _networks(
        "::/128", "fe80::/10", "fec0::/10", "ff00::/8", "2001::/32", "fd00:ec2::/32", "fd20:ce::254/128"
    ),
}  # fmt: skip
