"""``pgsched top``: a frame for pipes, one that fits 80 columns, and a terminal with keys."""

import json
import os
import pty
import subprocess
import sys
from datetime import UTC, datetime
from io import StringIO
from typing import Any

import pytest
from rich.console import Console

from pgsched.cli.top_frame import frame, share
from pgsched.cli.top_view import SORTS, View
from pgsched.store.gates.targets import Sidelined
from pgsched.store.lookup.now import Edge, Flow, HeldByGate, Now
from pgsched.store.lookup.overview import LivingWorker, QueueState
from tests.cli.conftest import Run
from tests.conftest import Connection, at

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
_EDGES = [
    Edge(queue="orders", due=2, in_hand=1, oldest_due=200.0),
    Edge(queue="default", due=1_500, in_hand=300, oldest_due=4.0, cut=True),
    Edge(client="shop", due=1_500, in_hand=300, oldest_due=4.0),
    Edge(client="bank\x1b[2J", due=2, in_hand=1, oldest_due=200.0),
    Edge(worker=7, in_hand=301, oldest_in_hand=12.5),
]
_WORKER = LivingWorker(
    id=7, name="host-1", queues=["default", "orders"], concurrency=200, release="0.1.0", started_at=NOON
)
_SIDELINED = Sidelined(
    gate="host:shop.example",
    host="shop.example",
    client=None,
    state="failing",
    until=None,
    openings=1,
    reason=None,
    since=NOON,
    failing_since=None,
    held=12,
)
_HELD = [HeldByGate(gate="client:shop", held=1_000)]


def _now(*, at: float = 100.0, ended: int = 1_000, **more: Any) -> Now:
    queues = [QueueState(name=name, pulled=False, paused=False, stall=None) for name in ("default", "idle", "orders")]
    flows = {"default": Flow(queue="default", scheduled=2 * ended, ended=ended, at=at)}
    given = {"edges": _EDGES, "flows": flows, "queues": queues, "workers": [_WORKER]}
    given |= {"held_back": _HELD, "sidelined": [_SIDELINED]}
    return Now(**given | more)


def _drawn(
    now: Now, view: View, *, before: Now | None = None, width: int = 80, room: int = 24, **more: Any
) -> list[str]:
    console = Console(file=StringIO(), width=width, color_system=None)
    with console.capture() as captured:
        console.print(frame(now, view.of(now, before), view, room=24, **more))
    return captured.get().rstrip().split("\n")


def test_a_frame_fits_80_columns_and_24_lines() -> None:
    long = [f"{n}-{'long' * 12}" for n in range(40)]
    stall = "waits: no worker serves the queue"
    many = [QueueState(name=name, pulled=False, paused=False, stall=stall) for name in long]
    edges = [Edge(client=name, due=2_000, in_hand=2_000, oldest_due=1e6, cut=True) for name in long]
    lines = _drawn(_now(queues=many, edges=edges, workers=[_WORKER] * 40), View(), fault="")
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 80
    assert [line.strip() for line in lines if "more" in line]
    assert lines[-1].startswith("q quits")


def test_a_frame_says_what_there_is_and_shows_nothing_unprintable() -> None:
    lines = _drawn(_now(at=102.0, ended=1_400), View(), before=_now())
    assert lines[0] == "pgsched  1,502+ due  301+ in hand  3 min late  1 worker"
    text = "\n".join(lines)
    assert "\x1b" not in text
    assert "bank\\x1b[2J" in text
    default = next(line.split() for line in lines if line.startswith("default"))
    assert default == ["default", "1,500+", "300+", "4.0", "s", "400", "200"]
    worker = next(line.split() for line in lines if line.startswith("host-1"))
    assert worker == ["host-1", "7", "301", "200", "12.5", "s", "default,orders"]
    assert [line.split() for line in lines if line.startswith(("client:", "host:"))] == [
        ["client:shop", "1,000+"],
        ["host:shop.example", "12", "failing"],
    ]


def test_what_a_fault_says_takes_the_place_of_the_keys() -> None:
    lines = _drawn(_now(), View(), fault="connection to postgresql://u:secret@host/x failed")
    assert lines[-1].startswith("it cannot be looked at now: connection to postgresql://u")
    assert "secret" not in lines[-1]


@pytest.mark.parametrize(
    ("keys", "order"),
    [
        ("", ["orders", "default", "idle"]),
        ("s", ["default", "orders", "idle"]),
        ("ss", ["default", "orders", "idle"]),
        ("sss", ["default", "idle", "orders"]),
        ("ssss", ["orders", "default", "idle"]),
        ("/ORDx\x7f\r", ["orders"]),
        ("/ord\r\x1b", ["orders", "default", "idle"]),
        ("/q\x1b", ["orders", "default", "idle"]),
    ],
)
def test_keys_sort_and_filter(keys: str, order: list[str]) -> None:
    view = View()
    for key in keys:
        view = view.press(key)
    assert [line.name for line in view.of(_now()).queues] == order
    assert not view.done


def test_keys_pause_and_quit() -> None:
    assert View().press("p").paused
    assert not View().press("p").press(" ").paused
    assert View().press("q").done
    assert View().press("x") == View()
    assert len(SORTS) == 4


def test_there_is_no_rate_where_the_server_began_to_count_anew() -> None:
    [line, *_] = [line for line in View().of(_now(at=102.0, ended=5), _now()).queues if line.name == "default"]
    assert (line.scheduled, line.ended) == (None, None)


def test_lines_are_shared_so_that_the_small_have_all_of_theirs() -> None:
    assert share([40, 2, 0, 40], 10) == [4, 2, 0, 4]
    assert share([1, 2], 10) == [1, 2]
    assert share([5], -3) == [0]


def test_one_frame_is_printed_where_the_output_is_no_terminal(db: Connection, database_url: str, run: Run) -> None:
    db.execute("select pgsched.schedule('python:note', client => 'shop', fire_at => now() - interval '5 minutes')")
    result = run("top", "--filter", "sho", env=at(database_url))
    assert result.exit_code == 0
    assert result.stdout.startswith("pgsched  1 due  0 in hand  5 min late  0 workers\n")
    assert [line.split()[:2] for line in result.stdout.splitlines() if line.startswith("shop")] == [["shop", "1"]]
    found = json.loads(run("top", "--json", env=at(database_url)).stdout)
    assert found["queues"][0]["stall"] == "waits: no worker serves the queue"
    assert found["clients"][0]["due"] == 1


def test_on_a_terminal_it_draws_takes_keys_and_leaves_the_terminal_as_it_was(database_url: str) -> None:
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "pgsched.cli.main", "top", "--every", "0.5"],
        stdin=theirs,
        stdout=theirs,
        stderr=subprocess.PIPE,
        env={**os.environ, **at(database_url), "TERM": "xterm", "COLUMNS": "80", "LINES": "24"},
    )
    os.close(theirs)
    drawn = b""
    while b"by late" not in drawn:
        drawn += os.read(ours, 65_536)
    os.write(ours, b"s")
    while b"by due" not in drawn:
        drawn += os.read(ours, 65_536)
    os.write(ours, b"q")
    _, errors = process.communicate(timeout=20)
    os.close(ours)
    assert (process.returncode, errors) == (0, b"")
