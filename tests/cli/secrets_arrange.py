"""For the test of secrets: targets that receive secrets, and the places that must not contain them."""

import base64
import json
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from pgsched.embedded import bundled_bin_dir
from tests.delivery.receiver import TLS, server_tls

Needles = dict[str, list[str]]
"""For each kind of secret, the forms in which it could appear."""


@dataclass(frozen=True, slots=True)
class World:
    """Targets, a token endpoint and a span collector at ``url``, and at ``tls_url`` with client certificates.
    ``seen`` has the paths and headers of requests, ``spans`` what the collector received."""

    url: str
    tls_url: str
    seen: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    spans: list[bytes] = field(default_factory=list)


class _Target(BaseHTTPRequestHandler):
    """Issues tokens at /token. Other answers contain the request's headers; /down answers 500."""

    def do_POST(self) -> None:
        sent = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path == "/v1/traces":
            self.spans.append(sent)  # type: ignore[attr-defined]
            return self._answer(200, b"")
        told = {name.lower(): text for name, text in self.headers.items()}
        self.seen.append((self.path, told))  # type: ignore[attr-defined]
        token = {"access_token": "hush-access", "expires_in": 600}
        body = json.dumps(token if self.path == "/token" else {"told": told}).encode()
        return self._answer(500 if self.path == "/down" else 200, body)

    def _answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Logs nothing."""


@contextmanager
def serving_world() -> Iterator[World]:
    seen: list[tuple[str, dict[str, str]]] = []
    spans: list[bytes] = []
    target = type("Target", (_Target,), {"seen": seen, "spans": spans})
    with ExitStack() as stack:
        plain, tls = (
            stack.enter_context(_served(target, context)) for context in (None, server_tls(ask_for_certificate=True))
        )
        yield World(f"http://127.0.0.1:{plain}", f"https://localhost:{tls}", seen, spans)


@contextmanager
def _served(target: type[BaseHTTPRequestHandler], tls: ssl.SSLContext | None) -> Iterator[int]:
    with ThreadingHTTPServer(("127.0.0.1", 0), target) as server:
        if tls is not None:
            server.socket = tls.wrap_socket(server.socket, server_side=True)
        Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port
        server.shutdown()


def service_account(token_uri: str) -> str:
    """Returns the JSON key of an invented service account."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    form = serialization.PrivateFormat.PKCS8
    pem = key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption()).decode()
    return json.dumps({"client_email": "a@b.example", "token_uri": token_uri, "private_key": pem})


def client_certificate() -> str:
    """Returns a certificate with its key."""
    return (TLS / "client.pem").read_text()


def forms_of(text: str) -> list[str]:
    """Returns a secret as text, as hex as PostgreSQL writes bytes, and within Basic credentials."""
    return [text, text.encode().hex(), base64.b64encode(f"us:{text}".encode()).decode()]


def forms_of_key(pem: str) -> list[str]:
    """Returns two whole lines of a private key, as text and hex."""
    lines = pem[pem.index("PRIVATE KEY-----") :].replace("\\n", "\n").splitlines()[1:3]
    return [form for line in lines for form in (line, line.encode().hex())]


def forms_of_signing_secret(text: str) -> list[str]:
    """Returns the secret without its end, which pgsched shows, and its bytes as hex."""
    raw = base64.b64decode(text.removeprefix("whsec_"))
    return [text[:-6], text[:-6].encode().hex(), raw.hex()]


def dump_of(cluster: Path) -> str:
    """Dumps the whole database as its superuser."""
    password, port = ((cluster / name).read_text().strip() for name in ("password", "port"))
    command = [str(bundled_bin_dir() / "pg_dump"), "-h", "127.0.0.1", "-p", port, "-U", "postgres", "pgsched"]
    return subprocess.run(command, env={"PGPASSWORD": password}, check=True, capture_output=True, text=True).stdout


def environments(*, without: str) -> str:
    """Returns the environment of all readable processes, without the variable that holds the secrets."""
    found = list[str]()
    for file in Path("/proc").glob("[0-9]*/environ"):
        try:
            variables = file.read_bytes().decode("utf-8", "replace").split("\0")
        except OSError:  # the process has ended, or belongs to another user
            continue
        found += [variable for variable in variables if not variable.startswith(f"{without}=")]
    return "\n".join(found)


def found_in(places: dict[str, str], needles: Needles) -> list[tuple[str, str]]:
    """Returns each found secret with its place."""
    return [
        (what, place)
        for place, text in places.items()
        for what, forms in needles.items()
        if any(form in text for form in forms)
    ]
