"""The supervisor, with minimal child processes."""

import asyncio
import dataclasses
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from pgsched.cli import supervisor as module
from pgsched.cli.supervisor import Program, Supervisor
from pgsched.errors import PgschedError

READY = "import signal, sys; print('ready', flush=True); signal.pause()"
STOPPING = [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT]
TOLD = "import signal, sys; print(input(), file=sys.stderr); print('ready', flush=True); signal.pause()"
STUBBORN = (
    "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('ready', flush=True)\nwhile 1: signal.pause()"
)


def _program(code: str, name: str = "child") -> Program:
    return Program(name=name, command=[sys.executable, "-c", code], environment=dict(os.environ))


async def _until(condition: Callable[[], bool], *, within: float = 30.0) -> float:
    """Waits for a condition and returns how long it took."""
    began = time.monotonic()
    async with asyncio.timeout(within):
        while not condition():  # noqa: ASYNC110 - other processes set no event here
            await asyncio.sleep(0.005)
    return time.monotonic() - began


@asynccontextmanager
async def _running(
    *codes: str, drain_timeout: float = 5.0, report: Callable[[str], None] = lambda _: None
) -> AsyncIterator[tuple[Supervisor, asyncio.Task[None]]]:
    programs = [_program(code, f"child-{number}") for number, code in enumerate(codes, 1)]
    supervisor = Supervisor(programs, drain_timeout=drain_timeout, report=report)
    ready = asyncio.Event()
    task = asyncio.create_task(supervisor.run(on_ready=ready.set))
    try:
        async with asyncio.timeout(20):
            await ready.wait()
        yield supervisor, task
    finally:
        if not task.done():
            supervisor.stop()
        await task


async def test_a_killed_child_is_restarted_immediately() -> None:
    async with _running(READY) as (supervisor, _):
        before = supervisor.processes["child-1"]
        os.kill(before, signal.SIGKILL)
        took = await _until(lambda: supervisor.processes.get("child-1") not in {None, before})
    assert took < module.LONGEST_PAUSE


async def test_a_restarted_child_gets_the_same_standard_input() -> None:
    program, heard = dataclasses.replace(_program(TOLD), said=b"the word\n"), list[str]()
    first = await program.begin()
    supervisor = Supervisor(
        [program],
        drain_timeout=5,
        report=lambda _: None,
        relay=lambda _, text: heard.append(text),
        begun={"child": first},
    )
    running = asyncio.create_task(supervisor.run())
    await _until(lambda: heard == ["the word"])
    assert supervisor.processes == {"child": first.pid}
    os.kill(first.pid, signal.SIGKILL)
    await _until(lambda: heard == ["the word"] * 2)
    assert supervisor.processes["child"] != first.pid
    supervisor.stop()
    await running


async def test_a_killed_child_does_not_affect_another_child() -> None:
    async with _running(READY, READY) as (supervisor, _):
        killed, other = supervisor.processes["child-1"], supervisor.processes["child-2"]
        os.kill(killed, signal.SIGKILL)
        await _until(lambda: supervisor.processes.get("child-1") not in {None, killed})
        assert supervisor.processes["child-2"] == other


async def test_stopping_the_supervisor_ends_every_child() -> None:
    async with _running(READY, READY) as (supervisor, task):
        pids = supervisor.processes.values()
        supervisor.stop()
        await task
        assert supervisor.processes == {}
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


@pytest.fixture
def heeded() -> Iterator[None]:
    """Restores default signal handling, since tests may run under nohup or as a background job."""
    before = {number: signal.signal(number, signal.SIG_DFL) for number in STOPPING}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", STOPPING)
async def test_a_stop_signal_stops_the_supervisor_and_its_child(number: signal.Signals, heeded: None) -> None:
    async with _running(READY) as (supervisor, task):
        os.kill(os.getpid(), number)
        await asyncio.wait_for(task, 10)
        assert supervisor.processes == {}


async def test_a_stopped_child_gets_time_to_drain(tmp_path: Path) -> None:
    done = tmp_path / "done"
    slow = (
        "import pathlib, signal, sys, time\n"
        f"def end(*_): time.sleep(0.3); pathlib.Path({str(done)!r}).touch(); sys.exit()\n"
        "signal.signal(signal.SIGTERM, end); print('ready', flush=True)\nwhile 1: signal.pause()"
    )
    async with _running(slow) as (supervisor, task):
        supervisor.stop()
        await task
    assert done.exists()


async def test_a_child_over_its_drain_timeout_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "HAND_BACK", 0.1)
    lines: list[str] = []
    async with _running(STUBBORN, drain_timeout=0.1, report=lines.append) as (supervisor, task):
        supervisor.stop()
        await asyncio.wait_for(task, 20)
    assert any("did not drain in time" in line for line in lines)


async def test_a_child_gets_the_stop_command_on_standard_input(tmp_path: Path) -> None:
    heard = tmp_path / "heard"
    listening = (
        "import pathlib, signal, sys\nsignal.signal(signal.SIGTERM, signal.SIG_IGN); print('ready', flush=True)\n"
        f"pathlib.Path({str(heard)!r}).write_text(sys.stdin.readline())"
    )
    async with _running(listening) as (supervisor, task):
        supervisor.stop()
        await asyncio.wait_for(task, 10)
    assert heard.read_text() == "stop\n"


async def test_a_suspended_child_is_killed_and_restarted() -> None:
    program = dataclasses.replace(_program(READY), longest_stop=0.5)
    supervisor = Supervisor([program], drain_timeout=5.0, report=lambda _: None)
    ready = asyncio.Event()
    task = asyncio.create_task(supervisor.run(on_ready=ready.set))
    await asyncio.wait_for(ready.wait(), 20)
    before = supervisor.processes["child"]
    os.kill(before, signal.SIGSTOP)
    await _until(lambda: supervisor.processes.get("child") not in {None, before}, within=20)
    supervisor.stop()
    await asyncio.wait_for(task, 10)


async def test_a_second_stop_kills_children_immediately() -> None:
    async with _running(STUBBORN, drain_timeout=60) as (supervisor, task):
        supervisor.stop()
        supervisor.stop()
        await asyncio.wait_for(task, 20)


async def test_a_child_that_cannot_start_stops_the_supervisor_with_its_error() -> None:
    lines: list[str] = []
    programs = [_program(READY, "good"), _program("import sys; sys.exit('no such app')", "bad")]
    supervisor = Supervisor(programs, drain_timeout=5, report=lines.append)
    with pytest.raises(PgschedError, match=r"bad failed to start 5 times in a row \(exit status 1\): no such app"):
        await asyncio.wait_for(supervisor.run(), 20)
    assert supervisor.processes == {}
    assert lines.count("bad | no such app") == 5


async def test_a_start_without_a_database_does_not_count_as_a_failed_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LONGEST_PAUSE", 0.01)
    tries = tmp_path / "tries"
    patient = (
        "import os, pathlib, signal, sys\n"
        f"tries = pathlib.Path({str(tries)!r})\n"
        "count = len(tries.read_text()) if tries.exists() else 0\n"
        "tries.write_text('x' * (count + 1))\n"
        "if count < 7: sys.exit(os.EX_TEMPFAIL)\n"
        "print('ready', flush=True); signal.pause()"
    )
    async with _running(patient):
        assert len(tries.read_text()) == 8


async def test_a_child_that_dies_after_starting_is_always_restarted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LONGEST_PAUSE", 0.05)
    lives = tmp_path / "lives"
    dying = (
        f"import os\nwith open({str(lives)!r}, 'a') as lives: lives.write('x')\nprint('ready', flush=True); os._exit(3)"
    )
    async with _running(dying, READY) as (supervisor, task):
        other = supervisor.processes["child-2"]
        await _until(lambda: len(lives.read_text()) > 3 * module.FAILURES, within=60)
        assert not task.done()
        assert supervisor.processes["child-2"] == other


async def test_the_restart_delay_grows_up_to_a_limit() -> None:
    keeper = module._Keeper(_program(READY), lambda _: None, lambda _, __: None)
    pauses = []
    for _ in range(8):
        keeper._ready_since = asyncio.get_running_loop().time()
        keeper._judge(3)
        pauses.append(keeper._pause)
    assert pauses == sorted(pauses)
    assert (pauses[0], pauses[-1]) == (module.FIRST_PAUSE, module.LONGEST_PAUSE)
    keeper._ready_since = asyncio.get_running_loop().time() - module.STEADY
    keeper._judge(3)
    assert keeper._pause == 0.0


async def test_children_have_their_own_process_group() -> None:
    async with _running(READY) as (supervisor, _):
        child = supervisor.processes["child-1"]
        assert os.getpgid(child) == child


def test_children_stop_when_their_supervisor_is_killed(tmp_path: Path) -> None:
    orphaned = tmp_path / "orphaned"
    child = (
        "import pathlib, signal, sys\n"
        "from pgsched.cli.supervised import stop_when_orphaned\nfrom pgsched.settings import Settings\n"
        f"def end(*_): pathlib.Path({str(orphaned)!r}).touch(); sys.exit()\n"
        "signal.signal(signal.SIGTERM, end); stop_when_orphaned(Settings(drain_timeout=1))\n"
        "print('ready', flush=True)\nwhile 1: signal.pause()"
    )
    parent = (
        "import asyncio, os, sys\nfrom pgsched.cli.supervisor import Program, Supervisor\n"
        f"program = Program(name='child', command=[sys.executable, '-c', {child!r}], environment=dict(os.environ))\n"
        "supervisor = Supervisor([program], drain_timeout=5, report=print)\n"
        "asyncio.run(supervisor.run(on_ready=lambda: print('ready', flush=True)))"
    )
    process = subprocess.Popen([sys.executable, "-c", parent], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.kill()
    process.communicate()
    asyncio.run(_until(orphaned.exists))


_STOPS_ITSELF = """
import os, signal
from pgsched.cli.supervised import Orders
from pgsched.settings import Settings
Orders(Settings())
os.kill(os.getpid(), signal.SIGSTOP)
"""
_LEAVES_IT_STOPPED = """
import os, subprocess, sys
child = subprocess.Popen([sys.executable, "-c", sys.argv[1]], stdin=subprocess.PIPE)
print(child.pid, flush=True)
os.waitpid(child.pid, os.WUNTRACED)
os._exit(0)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux signals a process when its parent ends")
def test_a_suspended_child_dies_when_its_supervisor_exits() -> None:
    command = [sys.executable, "-c", _LEAVES_IT_STOPPED, _STOPS_ITSELF]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as supervisor:
        assert supervisor.stdout is not None
        pid = int(supervisor.stdout.readline())
        try:
            supervisor.communicate(timeout=30)  # returns once the child, which also holds the pipe, ends
        except subprocess.TimeoutExpired:
            os.kill(pid, signal.SIGKILL)
            raise
