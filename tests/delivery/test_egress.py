import socket
from typing import Any

import pytest

from pgsched.delivery.egress import AddressRefused, Egress
from pgsched.delivery.resolver import Resolver
from pgsched.domain.attempt_outcome import Failed, Succeeded
from pgsched.domain.execution_options import Options
from tests.delivery.receiver import calling, execution, receiving

PUBLIC = [
    "8.8.8.8",
    "1.1.1.1",
    "2606:4700:4700::1111",
    "64:ff9b::808:808",
    "::ffff:8.8.8.8",
    "2002:808:808::1",
]
PRIVATE = [
    "127.0.0.1", "127.8.8.8", "10.0.0.5", "172.16.0.1", "172.31.255.255", "192.168.1.1", "100.64.0.1", "::1",
    "fd00::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "64:ff9b::7f00:1", "64:ff9b::a00:1", "2002:7f00:1::1",
]  # fmt: skip
NEVER = [
    "0.0.0.0", "169.254.169.254", "169.254.170.2", "192.0.0.192", "100.100.100.200", "168.63.129.16",
    "224.0.0.1", "239.255.255.250", "240.0.0.1", "255.255.255.255", "::", "fe80::1", "fe80::1%lo", "fec0::1",
    "ff02::1", "fd00:ec2::254", "fd20:ce::254", "::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe",
    "2002:a9fe:a9fe::1", "2001::1",
]  # fmt: skip
NOT_GIVEN_OUT = [
    "192.0.2.1",
    "198.18.0.1",
    "203.0.113.9",
    "::7f00:1",
    "100::1",
    "2001:db8::1",
    "64:ff9b:1::1",
]


@pytest.mark.parametrize("address", PUBLIC)
@pytest.mark.parametrize("allow_private", [False, True])
def test_public_addresses_are_allowed(address: str, allow_private: bool) -> None:
    Egress(allow_private=allow_private).check(address)


@pytest.mark.parametrize("address", [*PRIVATE, *NEVER, *NOT_GIVEN_OUT])
def test_non_public_addresses_are_refused(address: str) -> None:
    with pytest.raises(AddressRefused, match="refused to call"):
        Egress(allow_private=False).check(address)


@pytest.mark.parametrize("address", PRIVATE)
def test_private_addresses_can_be_allowed(address: str) -> None:
    Egress(allow_private=True).check(address)


@pytest.mark.parametrize("address", [*NEVER, *NOT_GIVEN_OUT])
def test_metadata_and_reserved_addresses_are_always_refused(address: str) -> None:
    with pytest.raises(AddressRefused):
        Egress(allow_private=True).check(address)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "LOCALHOST"])
async def test_local_addresses_are_refused_without_connecting(host: str) -> None:
    async with receiving() as receiver, calling(allow_private=False) as channel:
        outcome = await channel.deliver(execution(f"http://{host}:{receiver.port}/"), Options(), 5)
    assert isinstance(outcome, Failed)
    assert not outcome.retryable
    assert "start the worker with --allow-private-targets" in outcome.error
    assert receiver.connections == 0


@pytest.mark.parametrize(
    "name", ["0x7f000001", "0x7f.1", "017700000001", "127.0.0.1.", "2130706433", "[::ffff:7f00:1]"]
)
async def test_alternative_spellings_of_localhost_are_not_called(name: str) -> None:
    async with receiving() as receiver, calling(allow_private=False) as channel:
        outcome = await channel.deliver(execution(f"http://{name}:{receiver.port}/"), Options(), 5)
    assert isinstance(outcome, Failed)
    assert receiver.connections == 0


async def test_a_host_name_that_resolves_to_a_private_address_is_not_called(monkeypatch: pytest.MonkeyPatch) -> None:
    async with receiving() as receiver, calling(allow_private=False) as channel:
        _resolve_to(monkeypatch, "127.0.0.1")
        outcome = await channel.deliver(execution(f"http://shop.example:{receiver.port}/"), Options(), 5)
    assert isinstance(outcome, Failed)
    assert not outcome.retryable
    assert receiver.connections == 0


async def test_a_host_name_that_resolves_to_an_allowed_address_is_called(monkeypatch: pytest.MonkeyPatch) -> None:
    async with receiving() as receiver, calling() as channel:
        _resolve_to(monkeypatch, "127.0.0.1")
        outcome = await channel.deliver(execution(f"http://shop.example:{receiver.port}/"), Options(), 5)
    assert outcome == Succeeded(status_code=200)
    assert receiver.requests[0].headers["host"] == f"shop.example:{receiver.port}"


async def test_a_host_name_resolves_only_to_its_allowed_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    _resolve_to(monkeypatch, "10.0.0.1", "8.8.8.8", "169.254.169.254")
    resolver = Resolver(Egress(allow_private=False))
    answers = await resolver.resolve("shop.example", 443)
    resolver.close()
    assert [address for *_, address in answers] == [("8.8.8.8", 443)]


def test_no_socket_is_opened_to_a_forbidden_address() -> None:
    info = (socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", ("169.254.169.254", 80))
    with pytest.raises(AddressRefused):
        Egress(allow_private=True).open_socket(info)


def _resolve_to(monkeypatch: pytest.MonkeyPatch, *addresses: str) -> None:
    def answer(host: str, port: int, *args: Any, **kwargs: Any) -> Any:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in addresses]

    monkeypatch.setattr(socket, "getaddrinfo", answer)
