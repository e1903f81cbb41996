"""Client certificates kept as secrets: used only for their client and only on separate connections."""

import asyncio
import re
import ssl
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization

from pgsched.delivery import credentials
from pgsched.delivery.credentials import Certificates
from pgsched.delivery.exchange import DeliveryFailed
from pgsched.delivery.tls import certificate_contexts, certified_context, trusting_context
from pgsched.domain.attempt_outcome import Failed, Succeeded
from pgsched.domain.execution_options import ClientCertificate, Options, parse_options
from tests.delivery.receiver import TLS, calling, execution, receiving, server_tls

DONE = Succeeded(status_code=200)
AUTHORITY = str(TLS / "authority.pem")
BOTH = (TLS / "client.pem").read_text()
[CERTIFICATE] = re.findall(r"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----\n", BOTH, re.DOTALL)
[KEY] = re.findall(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?-----END [A-Z ]*PRIVATE KEY-----\n", BOTH, re.DOTALL)
[OTHER_KEY] = re.findall(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?-----END [A-Z ]*PRIVATE KEY-----\n",
    (TLS / "server.pem").read_text(),
    re.DOTALL,
)
LOCKED_KEY = (
    serialization.load_pem_private_key(KEY.encode(), None)
    .private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.BestAvailableEncryption(b"hush"),
    )
    .decode()
)


class Kept:
    """Clients' secrets, which a test may replace, with a count of reads."""

    def __init__(self, **texts: str) -> None:
        self.texts, self.asked = texts, Counter[tuple[str, str]]()

    async def __call__(self, client: str, name: str, host: str) -> str:
        self.asked[client, name] += 1
        if client != "shop" or name not in self.texts:
            raise DeliveryFailed(
                f"the secret {name} of the client {client} is not available: there is no secret of this name"
            )
        return self.texts[name]


def showing(certificate: str, key: str | None = None) -> Options:
    named = f'"certificate": "{certificate}"' + (f', "key": "{key}"' if key else "")
    return parse_options(f'{{"tls": {{{named}}}}}'.encode())


def trusting(**more: Any) -> dict[str, Any]:
    return {"tls": trusting_context(AUTHORITY), "authorities": AUTHORITY, **more}


@pytest.mark.parametrize(
    ("texts", "options"),
    [({"both": BOTH}, showing("both")), ({"mine": CERTIFICATE, "key": KEY}, showing("mine", "key"))],
    ids=["one_secret", "two"],
)
async def test_a_certificate_is_presented_to_a_target_that_requests_it(texts: dict[str, str], options: Options) -> None:
    kept = Kept(**texts)
    async with (
        receiving(tls=server_tls(ask_for_certificate=True)) as receiver,
        calling(**trusting(get_secret=kept)) as channel,
    ):
        row = execution(f"https://localhost:{receiver.port}/")
        assert [await channel.deliver(row, options, 5) for _ in range(2)] == [DONE, DONE]
        assert isinstance(await channel.deliver(row, Options(), 5), Failed)
    assert [request.connection for request in receiver.requests] == [1, 1]


async def test_a_client_cannot_use_another_clients_certificate() -> None:
    async with (
        receiving(tls=server_tls(ask_for_certificate=True)) as receiver,
        calling(**trusting(get_secret=Kept(both=BOTH))) as channel,
    ):
        row = execution(f"https://localhost:{receiver.port}/")
        assert await channel.deliver(row, showing("both"), 5) == DONE
        refused = await channel.deliver(row._replace(client_id="mallory"), showing("both"), 5)
    assert isinstance(refused, Failed)
    assert "there is no secret of this name" in refused.error
    assert len(receiver.requests) == 1


async def test_connections_are_separate_for_each_certificate() -> None:
    kept = Kept(one=BOTH, again=BOTH, apart=CERTIFICATE, key=KEY)
    async with receiving(tls=server_tls()) as receiver, calling(**trusting(get_secret=kept)) as channel:
        row = execution(f"https://localhost:{receiver.port}/")
        for options in (Options(), showing("one"), showing("again"), showing("apart", "key"), Options()):
            assert await channel.deliver(row, options, 5) == DONE
    assert [request.connection for request in receiver.requests] == [1, 2, 2, 3, 1]


async def test_a_replaced_certificate_is_not_used_again() -> None:
    kept = Kept(mine=BOTH)
    async with receiving(tls=server_tls()) as receiver, calling(**trusting(get_secret=kept)) as channel:
        row = execution(f"https://localhost:{receiver.port}/")
        assert await channel.deliver(row, showing("mine"), 5) == DONE
        kept.texts["mine"] = f"{CERTIFICATE}{KEY}\n# the new one\n"
        assert [await channel.deliver(row, showing("mine"), 5) for _ in range(2)] == [DONE, DONE]
        kept.texts["mine"] = "gone"
        refused = await channel.deliver(row, showing("mine"), 5)
    assert isinstance(refused, Failed)
    assert [request.connection for request in receiver.requests] == [1, 2, 2]


async def test_a_clients_certificate_takes_precedence_over_the_setting() -> None:
    files = certificate_contexts(f'{{"localhost": "{TLS / "client.pem"}"}}', AUTHORITY)
    async with (
        receiving(tls=server_tls()) as receiver,
        calling(**trusting(get_secret=Kept(mine=BOTH), certificates=files)) as channel,
    ):
        row = execution(f"https://localhost:{receiver.port}/")
        for options in (Options(), showing("mine"), Options()):
            assert await channel.deliver(row, options, 5) == DONE
    assert [request.connection for request in receiver.requests] == [1, 2, 1]


async def test_a_plain_http_call_reads_no_certificate() -> None:
    kept = Kept()
    async with receiving() as receiver, calling(get_secret=kept) as channel:
        assert await channel.deliver(execution(receiver.url), showing("nothing"), 5) == DONE
    assert not kept.asked


@pytest.mark.parametrize(
    "texts",
    [
        {"mine": "hush", "key": KEY},
        {"mine": CERTIFICATE, "key": "hush"},
        {"mine": CERTIFICATE, "key": OTHER_KEY},
        {"mine": CERTIFICATE, "key": CERTIFICATE},
        {"mine": KEY, "key": KEY},
        {"mine": "", "key": ""},
        {"mine": CERTIFICATE, "key": LOCKED_KEY},
    ],
    ids=["no_certificate", "no_key", "other_key", "twice_public", "twice_private", "nothing", "with_password"],
)
async def test_an_invalid_certificate_fails_the_attempt_and_is_not_leaked(texts: dict[str, str]) -> None:
    async with receiving(tls=server_tls()) as receiver, calling(**trusting(get_secret=Kept(**texts))) as channel:
        row = execution(f"https://localhost:{receiver.port}/")
        outcome = await channel.deliver(row, showing("mine", "key"), 5)
    assert isinstance(outcome, Failed)
    assert outcome.retryable
    assert "the secret mine and key of the client shop is not a usable certificate" in outcome.error
    assert not [line for text in texts.values() for line in text.splitlines() if line and line in outcome.error]
    assert receiver.requests == []


async def test_concurrent_calls_share_one_tls_context(monkeypatch: pytest.MonkeyPatch) -> None:
    made = list[str]()

    def making(certificate: str, *more: Any) -> ssl.SSLContext:
        made.append(certificate)
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)

    monkeypatch.setattr(credentials, "certified_context", making)
    found = Certificates(Kept(mine=BOTH))
    contexts = await asyncio.gather(
        *(found.context(ClientCertificate("mine"), "shop", "bank.example") for _ in range(20))
    )
    found.close()
    assert (len(made), len(set(contexts))) == (1, 1)


async def test_cached_tls_contexts_are_limited_per_client(monkeypatch: pytest.MonkeyPatch) -> None:
    made = Counter[str]()

    def making(certificate: str, *more: Any) -> ssl.SSLContext:
        made[certificate] += 1
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)

    async def named(client: str, name: str, host: str) -> str:
        return f"{client}/{name}"

    monkeypatch.setattr(credentials, "certified_context", making)
    monkeypatch.setattr(credentials, "_MOST", 10)
    found = Certificates(named)
    await found.context(ClientCertificate("own"), "shop", "bank.example")
    for number in range(40):
        await found.context(ClientCertificate(f"n{number}"), "mallory", "bank.example")
    for client in ("bank", "mill"):
        await found.context(ClientCertificate("own"), client, "bank.example")
    await found.context(ClientCertificate("own"), "shop", "bank.example")
    assert made["shop/own"] == 1
    assert {client: len(own) for client, own in found._made.items()} == {"shop": 1, "mallory": 7, "bank": 1, "mill": 1}
    found.close()


def test_no_private_key_is_left_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    certified_context(CERTIFICATE, KEY)
    assert not [*tmp_path.iterdir()]
    assert not [link for link in Path("/proc/self/fd").iterdir() if "memfd" in _leads_to(link)]


def test_without_memfd_a_temporary_file_is_used_and_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.delattr("os.memfd_create")
    assert certified_context(CERTIFICATE, KEY).get_ca_certs()
    assert not [*tmp_path.iterdir()]


def _leads_to(link: Path) -> str:
    try:
        return str(link.readlink())
    except OSError:
        return ""
