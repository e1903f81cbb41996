"""Which authorities callbacks trust, and to which hosts they present a client certificate."""

import json
import ssl
from pathlib import Path
from typing import Any

import pytest

from pgsched.delivery.tls import certificate_contexts, trusting_context
from pgsched.domain.attempt_outcome import Failed, Succeeded
from pgsched.domain.execution_options import Options
from pgsched.errors import InvalidSettings
from tests.delivery.receiver import TLS, calling, execution, receiving, server_tls

DONE = Succeeded(status_code=200)
AUTHORITY, CLIENT = str(TLS / "authority.pem"), str(TLS / "client.pem")


@pytest.fixture
def to_the_letter(monkeypatch: pytest.MonkeyPatch) -> None:
    """Enables VERIFY_X509_STRICT, as Python 3.13 and later do by default."""
    made = ssl.create_default_context

    def strict(*args: Any, **kwargs: Any) -> ssl.SSLContext:
        context = made(*args, **kwargs)
        context.verify_flags |= ssl.VERIFY_X509_STRICT
        return context

    monkeypatch.setattr(ssl, "create_default_context", strict)


@pytest.mark.usefixtures("to_the_letter")
async def test_an_authority_without_strict_extensions_is_trusted() -> None:
    loose = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    loose.load_cert_chain(TLS / "loose-server.pem")
    authorities = str(TLS / "loose-authority.pem")
    with pytest.raises(ssl.SSLError, match="Basic Constraints"):
        await _call(loose, tls=ssl.create_default_context(cafile=authorities), raising=True)
    assert await _call(loose, tls=trusting_context(authorities)) == DONE


async def test_an_authority_file_adds_to_the_trusted_system_authorities() -> None:
    both = {tuple(one["subject"]) for one in trusting_context(AUTHORITY).get_ca_certs()}
    alone = {tuple(one["subject"]) for one in trusting_context().get_ca_certs()}
    assert len(both - alone) == 1
    assert alone <= both


async def test_a_trusted_certificate_for_another_name_is_refused() -> None:
    async with receiving(tls=server_tls()) as receiver, calling(tls=trusting_context(AUTHORITY)) as channel:
        row = execution(f"https://127.0.0.2:{receiver.port}/")
        assert isinstance(await channel.deliver(row, Options(), 5), Failed)


@pytest.mark.parametrize(
    ("whom", "client", "shown"),
    [
        ("localhost", "shop", True),
        ("LOCALHOST", "shop", True),
        ("shop@localhost", "shop", True),
        ("shop@localhost", "other", False),
        ("bank.example", "shop", False),
    ],
)
async def test_a_certificate_is_presented_only_to_its_configured_hosts(whom: str, client: str, shown: bool) -> None:
    outcome = await _call(
        server_tls(ask_for_certificate=True),
        client=client,
        tls=trusting_context(AUTHORITY),
        certificates=certificate_contexts(json.dumps({whom: CLIENT}), AUTHORITY),
    )
    assert (outcome == DONE) is shown


async def test_a_client_never_uses_a_connection_with_another_clients_certificate() -> None:
    certificates = certificate_contexts(json.dumps({"shop@localhost": CLIENT}), AUTHORITY)
    async with (
        receiving(tls=server_tls()) as receiver,
        calling(tls=trusting_context(AUTHORITY), certificates=certificates) as channel,
    ):
        row = execution(f"https://localhost:{receiver.port}/")
        for client in ("shop", "other", "shop", "other"):
            assert await channel.deliver(row._replace(client_id=client), Options(), 5) == DONE
    assert [request.connection for request in receiver.requests] == [1, 2, 1, 2]


@pytest.mark.parametrize("text", ["", "no certificate"])
def test_an_unusable_certificate_file_is_named_in_the_error(text: str, tmp_path: Path) -> None:
    file = tmp_path / "own.pem"
    if text:
        file.write_text(text)
    with pytest.raises(InvalidSettings, match=f"tls_authorities: {file}"):
        trusting_context(str(file))
    with pytest.raises(InvalidSettings, match=f"tls_certificates: {file} for bank.example"):
        certificate_contexts(json.dumps({"bank.example": str(file)}))


async def _call(server: ssl.SSLContext, *, client: str = "shop", raising: bool = False, **given: Any) -> Any:
    async with receiving(tls=server) as receiver, calling(**given) as channel:
        url = f"https://localhost:{receiver.port}/"
        outcome = await channel.deliver(execution(url, client_id=client), Options(), 5)
    if raising and isinstance(outcome, Failed):
        raise ssl.SSLError(outcome.error)
    return outcome
