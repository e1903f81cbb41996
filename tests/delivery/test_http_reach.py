"""Opening connections: name resolution, several addresses, TLS, and proxy variables, which are ignored."""

import asyncio
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from pgsched.delivery import opener, resolver
from pgsched.delivery.egress import Egress
from pgsched.delivery.resolver import Resolver
from pgsched.delivery.slots import NoFreeSlot
from pgsched.domain.attempt_outcome import Failed, Succeeded
from pgsched.domain.execution_options import Options
from tests.delivery.peer import OK, peer, saying
from tests.delivery.receiver import TLS, calling, execution, receiving, server_tls

DONE = Succeeded(status_code=200)


class Names:
    """A fake resolver whose answers a test can change. ``asked`` holds every query."""

    def __init__(self, *addresses: str) -> None:
        self.addresses, self.asked = addresses, list[str]()

    def answer(self, host: bytes, port: None, *args: Any, **kwargs: Any) -> list[Any]:
        self.asked.append(host.decode())
        if not self.addresses:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return [self._info(address) for address in self.addresses]

    def _info(self, address: str) -> tuple[Any, ...]:
        if ":" in address:
            return (socket.AF_INET6, socket.SOCK_STREAM, 6, "", (address, 0, 0, 0))
        return (socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, 0))


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> Names:
    names = Names("127.0.0.1")
    monkeypatch.setattr(socket, "getaddrinfo", names.answer)
    return names


@pytest.fixture
def black_hole() -> Iterator[tuple[str, int]]:
    """An address that neither accepts nor refuses connections, because its backlog is full."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.9", 0))
        listening.listen(0)
        filling = [socket.socket() for _ in range(4)]
        for sock in filling:
            sock.setblocking(False)
            sock.connect_ex(listening.getsockname())
        yield listening.getsockname()
        for sock in filling:
            sock.close()


async def test_a_host_name_is_resolved_only_once_while_cached(names: Names) -> None:
    async with receiving() as receiver, calling() as channel:
        row = execution(f"http://shop.example:{receiver.port}/")
        for _ in range(3):
            assert await channel.deliver(row, Options(), 5) == DONE
            receiver.hang_up()
    assert names.asked == ["shop.example"]


async def test_concurrent_lookups_resolve_a_host_name_only_once(names: Names) -> None:
    found = Resolver(Egress(allow_private=True))
    await asyncio.gather(*[found.resolve("shop.example", port) for port in (80, 443, 8080)])
    found.close()
    assert names.asked == ["shop.example"]


async def test_a_cancelled_lookup_does_not_cancel_concurrent_lookups(
    monkeypatch: pytest.MonkeyPatch, names: Names
) -> None:
    asked, go_on = asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    def slow(*args: Any, **kwargs: Any) -> Any:
        loop.call_soon_threadsafe(asked.set)
        go_on.wait()
        return names.answer(*args, **kwargs)

    monkeypatch.setattr(socket, "getaddrinfo", slow)
    found = Resolver(Egress(allow_private=True))
    leaving, staying = (asyncio.create_task(found.resolve("shop.example", 80)) for _ in range(2))
    await asked.wait()
    leaving.cancel()
    await asyncio.wait([leaving])
    go_on.set()
    assert [address for *_, address in await staying] == [("127.0.0.1", 80)]
    found.close()


@pytest.fixture
def slow_names(monkeypatch: pytest.MonkeyPatch, names: Names) -> Iterator[threading.Event]:
    """Delays the resolution of names that begin with "slow" until the event is set or the test ends."""
    go_on = threading.Event()

    def answer(host: bytes, *args: Any, **kwargs: Any) -> Any:
        if host.startswith(b"slow"):
            go_on.wait(30)
        return names.answer(host, *args, **kwargs)

    monkeypatch.setattr(socket, "getaddrinfo", answer)
    yield go_on
    go_on.set()


async def test_hanging_lookups_take_no_more_than_their_clients_share(slow_names: threading.Event) -> None:
    found = Resolver(Egress(allow_private=True), is_shared=lambda: True)
    asking = [asyncio.create_task(found.resolve(f"slow-{n}.example", 80, "mallory")) for n in range(40)]
    answer = await found.resolve("shop.example", 80, "shop")
    assert [address for *_, address in answer] == [("127.0.0.1", 80)]
    refused = [task for task in asking if task.done()]
    assert len(refused) == 17  # of the 31 threads left for lookups, mallory may take 23
    assert all(isinstance(task.exception(), NoFreeSlot) for task in refused)
    slow_names.set()
    await asyncio.gather(*set(asking) - set(refused))
    found.close()


async def test_an_expired_address_is_still_used_while_all_lookups_hang(
    slow_names: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resolver, "_REMEMBERED_SECONDS", 0.0)
    found = Resolver(Egress(allow_private=True))
    known = await found.resolve("shop.example", 80, "shop")
    asking = [asyncio.create_task(found.resolve(f"slow-{n}.example", 80, f"client-{n}")) for n in range(32)]
    await asyncio.sleep(0)
    assert await found.resolve("shop.example", 80, "shop") == known
    slow_names.set()
    await asyncio.gather(*asking)
    found.close()


async def test_a_host_name_is_resolved_again_if_its_addresses_do_not_answer(names: Names) -> None:
    names.addresses = ("127.0.0.2",)
    async with receiving() as receiver, calling() as channel:
        row = execution(f"http://shop.example:{receiver.port}/")
        assert isinstance(await channel.deliver(row, Options(), 5), Failed)
        names.addresses = ("127.0.0.1",)
        assert await channel.deliver(row, Options(), 5) == DONE


async def test_the_number_of_cached_host_names_is_limited(names: Names, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resolver, "_MOST_NAMES", 2)
    found = Resolver(Egress(allow_private=True))
    for host in ("a.example", "b.example", "c.example", "a.example"):
        await found.resolve(host, 80)
    found.close()
    assert names.asked == ["a.example", "b.example", "c.example", "a.example"]


async def test_a_host_name_is_checked_again_each_time_it_is_resolved(
    names: Names, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resolver, "_REMEMBERED_SECONDS", 0.0)
    names.addresses = ("8.8.8.8",)
    found = Resolver(Egress(allow_private=False))
    await found.resolve("shop.example", 80)
    names.addresses = ("127.0.0.1",)
    with pytest.raises(OSError, match="refused to call"):
        await found.resolve("shop.example", 80)
    found.close()


@pytest.mark.parametrize("first", ["127.0.0.2", "::1"])
async def test_the_next_address_is_tried_if_the_first_address_refuses(names: Names, first: str) -> None:
    names.addresses = (first, "127.0.0.1")
    async with receiving() as receiver, calling() as channel:
        assert await channel.deliver(execution(f"http://shop.example:{receiver.port}/"), Options(), 5) == DONE


async def test_an_unresponsive_address_does_not_fail_the_attempt(
    names: Names, black_hole: tuple[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opener, "_HEAD_START_SECONDS", 0.05)
    hole, port = black_hole
    names.addresses = (hole, "127.0.0.8")
    server = await asyncio.start_server(_answer, "127.0.0.8", port)
    async with calling() as channel, server:
        assert await channel.deliver(execution(f"http://shop.example:{port}/"), Options(), 5) == DONE


async def test_cancellation_while_connecting_leaves_no_open_sockets(
    names: Names, black_hole: tuple[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opener, "_HEAD_START_SECONDS", 0.01)
    hole, port = black_hole
    names.addresses = (hole, hole)
    before = _descriptors()
    async with calling() as channel:
        outcome = await channel.deliver(execution(f"http://shop.example:{port}/"), Options(), 0.1)
    assert outcome == Failed(error="no answer within 0.1 s", retryable=True)
    attempts = asyncio.all_tasks() - {asyncio.current_task()}
    if attempts:
        await asyncio.wait(attempts)
    assert _descriptors() == before


async def test_a_host_that_refuses_on_every_address_is_a_retryable_failure(names: Names) -> None:
    names.addresses = ("127.0.0.2", "127.0.0.3")
    async with receiving() as receiver, calling() as channel:
        outcome = await channel.deliver(execution(f"http://shop.example:{receiver.port}/"), Options(), 5)
    assert isinstance(outcome, Failed)
    assert outcome.retryable
    assert outcome.error.startswith(f"cannot connect to shop.example:{receiver.port}: ConnectionRefusedError")


async def test_an_ipv6_address_can_be_called() -> None:
    async with peer(saying(OK), host="::1") as target, calling() as channel:
        assert await channel.deliver(execution(f"http://[::1]:{target.port}/"), Options(), 5) == DONE


@pytest.mark.parametrize("host", ["shop_1.example", "shop-.example", "xn--shop-.example", "a.-"])
async def test_a_certificate_for_another_name_is_a_failure(names: Names, host: str) -> None:
    trusting_context = ssl.create_default_context(cafile=TLS / "authority.pem")
    async with receiving(tls=server_tls()) as receiver, calling(tls=trusting_context) as channel:
        outcome = await channel.deliver(execution(f"https://{host}:{receiver.port}/"), Options(), 5)
    assert isinstance(outcome, Failed)
    assert receiver.requests == []


async def test_the_host_name_is_verified_by_default(names: Names, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(TLS / "authority.pem"))
    async with receiving(tls=server_tls()) as receiver, calling() as channel:
        good = await channel.deliver(execution(f"https://localhost:{receiver.port}/"), Options(), 5)
        bad = await channel.deliver(execution(f"https://wrong.example:{receiver.port}/"), Options(), 5)
    assert good == DONE
    assert isinstance(bad, Failed)
    assert "not valid for 'wrong.example'" in bad.error
    assert bad.retryable


@pytest.mark.parametrize(
    ("host", "asked"), [("localhost", "localhost"), ("LocalHost.", "localhost"), ("127.0.0.1", None)]
)
async def test_sni_contains_the_targets_host_name(names: Names, host: str, asked: str | None) -> None:
    seen: list[str | None] = []
    serving = server_tls()
    serving.sni_callback = lambda sock, name, context: seen.append(name)
    trusting_context = ssl.create_default_context(cafile=TLS / "authority.pem")
    async with receiving(tls=serving) as receiver, calling(tls=trusting_context) as channel:
        assert await channel.deliver(execution(f"https://{host}:{receiver.port}/"), Options(), 5) == DONE
    assert seen == [asked]


async def test_https_and_http_targets_share_no_connection() -> None:
    trusting_context = ssl.create_default_context(cafile=TLS / "authority.pem")
    async with receiving(tls=server_tls()) as receiver, calling(tls=trusting_context) as channel:
        secure = execution(f"https://localhost:{receiver.port}/")
        plain = execution(f"http://localhost:{receiver.port}/")
        assert await channel.deliver(secure, Options(), 5) == DONE
        assert isinstance(await channel.deliver(plain, Options(), 5), Failed)


async def test_proxy_variables_in_the_environment_are_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY", "https_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    async with receiving() as receiver, calling() as channel:
        assert await channel.deliver(execution(receiver.url), Options(), 5) == DONE


def _descriptors() -> set[str]:
    """Returns the sockets that this process has open."""
    found = set[str]()
    for descriptor in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):
            found.add(str(descriptor.readlink()))
    return {name for name in found if name.startswith("socket:")}


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readuntil(b"\r\n\r\n")
    writer.write(OK)
    await writer.drain()
    await reader.read()
    writer.close()
