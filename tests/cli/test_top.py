"""``pgsched top``: one frame in a pipe, repeated frames on a terminal until Ctrl-C."""

import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime
from typing import Any

import pytest

from pgsched.cli.top import frame, ordered, share
from pgsched.store.gates.sidelined_targets import Sidelined
from pgsched.store.lookup.now import Edge, Flow, HeldByGate, Now
from pgsched.store.lookup.now_lines import lines_of
from pgsched.store.lookup.overview import LivingWorker, QueueState
from tests.cli.conftest import Run, hear_signals
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


def _drawn(now: Now, *, before: Now | None = None, room: int | None = None) -> list[str]:
    return frame(now, ordered(lines_of(now, before), "late", ""), room=room).split("\n")


def test_a_frame_truncates_tables_and_counts_the_hidden_rows() -> None:
    many = [QueueState(name=f"q{n}", pulled=False, paused=False, stall=None) for n in range(40)]
    edges = [Edge(client=f"c{n}", due=2_000, in_hand=2_000, oldest_due=1e6, cut=True) for n in range(40)]
    lines = _drawn(_now(queues=many, edges=edges, workers=[_WORKER] * 40), room=23)
    assert len(lines) <= 23
    assert [line for line in lines if "more" in line] == [f"  … and {n} more" for n in (37, 37, 38)]


def test_a_frame_shows_totals_and_escapes_control_characters() -> None:
    lines = _drawn(_now(at=102.0, ended=1_400), before=_now())
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


@pytest.mark.parametrize(
    ("sort", "filter", "order"),
    [
        ("late", "", ["orders", "default", "idle"]),
        ("due", "", ["default", "orders", "idle"]),
        ("in hand", "", ["default", "orders", "idle"]),
        ("name", "", ["default", "idle", "orders"]),
        ("late", "ORD", ["orders"]),
    ],
)
def test_table_lines_are_sorted_and_filtered(sort: str, filter: str, order: list[str]) -> None:
    assert [line.name for line in ordered(lines_of(_now()), sort, filter).queues] == order


def test_no_rate_is_shown_after_a_counter_reset() -> None:
    [line, *_] = [line for line in lines_of(_now(at=102.0, ended=5), _now()).queues if line.name == "default"]
    assert (line.scheduled, line.ended) == (None, None)


def test_small_tables_are_shown_in_full_before_large_ones() -> None:
    assert share([40, 2, 0, 40], 10) == [4, 2, 0, 4]
    assert share([1, 2], 10) == [1, 2]
    assert share([5], -3) == [0]


def test_a_single_frame_is_printed_if_output_is_not_a_terminal(db: Connection, database_url: str, run: Run) -> None:
    db.execute("select pgsched.schedule('python:note', client => 'shop', fire_at => now() - interval '5 minutes')")
    result = run("top", "--filter", "sho", env=at(database_url))
    assert result.exit_code == 0
    assert result.stdout.startswith("pgsched  1 due  0 in hand  5 min late  0 workers\n")
    assert [line.split()[:2] for line in result.stdout.splitlines() if line.startswith("shop")] == [["shop", "1"]]
    found = json.loads(run("top", "--json", env=at(database_url)).stdout)
    assert found["queues"][0]["stall"] == "waits: no worker serves the queue"
    assert found["clients"][0]["due"] == 1


def _read_until(terminal: int, drawn: bytes, text: bytes, count: int = 1) -> bytes:
    """Reads until the text has been drawn this many times; fails after a minute."""
    end = time.monotonic() + 60
    while drawn.count(text) < count:
        assert select.select([terminal], [], [], max(end - time.monotonic(), 0))[0], drawn[-200:]
        drawn += os.read(terminal, 65_536)
    return drawn


def test_frames_are_redrawn_on_a_terminal_until_ctrl_c(database_url: str) -> None:
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "pgsched.cli.main", "top", "--every", "0.5"],
        stdin=theirs,
        stdout=theirs,
        stderr=subprocess.PIPE,
        env={**os.environ, **at(database_url), "TERM": "xterm", "COLUMNS": "80", "LINES": "24"},
        preexec_fn=hear_signals,
    )
    os.close(theirs)
    drawn = _read_until(ours, b"", b"nothing late", 2)
    process.send_signal(signal.SIGINT)
    _read_until(ours, drawn, b"\x1b[?1049l")
    _, errors = process.communicate(timeout=20)
    os.close(ours)
    assert (process.returncode, errors.strip()) == (130, b"")
