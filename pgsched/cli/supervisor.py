"""Keeps child processes running, and stops them together.

Children are ordinary programs started by ``exec`` (for pgsched: ``python -m pgsched.cli.main worker …``). They share no
memory, sockets or threads with the supervisor. Any program that follows three rules can be supervised:

1. A child writes a line to standard output when it is ready. Its standard error is passed on, and the last lines are
   shown if it fails.
2. A child's standard input is a lifeline, which ends when the supervisor ends for any reason (see
   ``stop_when_orphaned``). The first line of the lifeline may contain settings.
3. A child drains and exits on SIGTERM. The supervisor first writes a line to the child's standard input, which tells a
   child with handlers that the signal does not come from a handler. Each child has its own process group, so that a
   terminal's Ctrl-C reaches it only once, through the supervisor.

A child that dies is started again: at once if it had been ready for STEADY seconds, otherwise after a pause that
doubles each time. If a child fails FAILURES times within WINDOW seconds without ever being ready, the supervisor ends.
The exit status EX_TEMPFAIL (the database is unavailable) does not count as a failure. A child that stays stopped, for
example by SIGSTOP, is killed.

On the first SIGINT, SIGTERM, SIGHUP or SIGQUIT, the supervisor stops the children and waits for them; on the second, it
kills them.
"""

import asyncio
import os
import signal
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from pgsched.errors import PgschedError

FAILURES = 5
WINDOW = 30.0
FIRST_PAUSE = 0.1
LONGEST_PAUSE = 3.0
STEADY = 1.0
HAND_BACK = 3.0
"""The number of seconds after the drain timeout in which children hand back their rows."""

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A child to keep running, with exactly this environment. ``said`` is written to the child's standard input.
    ``longest_stop`` is how many seconds a signal may keep the child stopped; None means no limit."""

    name: str
    command: Sequence[str]
    environment: Mapping[str, str]
    said: bytes = b""
    longest_stop: float | None = None

    async def begin(self) -> asyncio.subprocess.Process:
        """Starts a process, without writing ``said`` yet."""
        return await asyncio.create_subprocess_exec(
            *self.command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=dict(self.environment),
            process_group=0,
            limit=2**20,
        )


class Supervisor:
    """Runs programs until it is stopped. Calls ``report`` with each line for the operator. Lines that a program writes
    go to ``relay``, if given, with the program's name. ``begun`` contains processes that are already running, by
    program name."""

    def __init__(
        self,
        programs: Sequence[Program],
        *,
        drain_timeout: float,
        report: Callable[[str], None],
        relay: Callable[[str, str], None] | None = None,
        begun: Mapping[str, asyncio.subprocess.Process] | None = None,
    ) -> None:
        passed_on = relay or (lambda name, text: report(f"{name} | {text}"))
        first = begun or {}
        self._keepers = [_Keeper(program, report, passed_on, first.get(program.name)) for program in programs]
        self._drain_timeout = drain_timeout
        self._report = report
        self._told = asyncio.Event()
        self._times_told = 0

    async def run(self, on_ready: Callable[[], None] | None = None) -> None:
        """Starts the programs, calls ``on_ready`` when all are ready, and returns when all have stopped.

        Raises PgschedError, with the last lines of the program's output, if a program cannot be started.
        """
        loop = asyncio.get_running_loop()
        for number in _heard():
            loop.add_signal_handler(number, self.stop)
        keeping = [asyncio.create_task(keeper.run()) for keeper in self._keepers]
        announcing = asyncio.create_task(self._announce(on_ready))
        told = asyncio.create_task(self._told.wait())
        try:
            await asyncio.wait([*keeping, told], return_when=asyncio.FIRST_COMPLETED)
        finally:
            announcing.cancel()
            told.cancel()
            await self._end(keeping)
        for task in keeping:
            task.result()

    def stop(self) -> None:
        """Stops the children; ``run`` returns when all have stopped. A second call kills them."""
        self._times_told += 1
        self._told.set()
        if self._times_told == 1:
            self._report("stopping: finishing running executions; a second signal stops at once")
        else:
            self._signal(signal.SIGKILL)

    @property
    def processes(self) -> dict[str, int]:
        """The process ids of the running programs, by program name."""
        return {keeper.program.name: keeper.process.pid for keeper in self._keepers if keeper.process is not None}

    async def _announce(self, on_ready: Callable[[], None] | None) -> None:
        for keeper in self._keepers:
            await keeper.ready.wait()
        if on_ready is not None:
            on_ready()

    async def _end(self, keeping: Sequence[asyncio.Task[None]]) -> None:
        for keeper in self._keepers:
            keeper.stop()
        _, late = await asyncio.wait(keeping, timeout=self._drain_timeout + HAND_BACK)
        if late:
            self._report(
                "some processes did not drain in time: killing them; other workers will take over their executions"
            )
            self._signal(signal.SIGKILL)
            await asyncio.wait(keeping)

    def _signal(self, number: signal.Signals) -> None:
        for pid in self.processes.values():
            with suppress(ProcessLookupError):
                os.kill(pid, number)


class _Keeper:
    """Keeps one program running: starts it, waits for it to end, and starts it again."""

    def __init__(
        self,
        program: Program,
        report: Callable[[str], None],
        relay: Callable[[str, str], None],
        begun: asyncio.subprocess.Process | None = None,
    ) -> None:
        self.program = program
        self._begun = begun
        self.process: asyncio.subprocess.Process | None = None
        self.ready = asyncio.Event()
        self._report, self._relay = report, relay
        self._stopping = asyncio.Event()
        self._ready_since: float | None = None
        self._failures: deque[float] = deque(maxlen=FAILURES)
        self._pause = 0.0
        self._words: deque[str] = deque(maxlen=20)

    def stop(self) -> None:
        self._stopping.set()
        if self.process is not None:
            tell_to_stop(self.process)

    async def run(self) -> None:
        while not self._stopping.is_set():
            status = await self._once()
            if self._stopping.is_set():
                return
            self._judge(status)
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), self._pause)

    async def _once(self) -> int:
        self._ready_since = None
        self._words.clear()
        begun, self._begun = self._begun, None
        self.process = process = begun or await self.program.begin()
        if self.program.said and process.stdin is not None:
            process.stdin.write(self.program.said)
        if self._stopping.is_set():  # stop() was called during the start, before there was a process to signal
            tell_to_stop(process)
        watching = asyncio.create_task(kill_if_stopped(process, self.program.longest_stop))
        try:
            assert process.stdout
            assert process.stderr
            reading = [
                asyncio.create_task(self._read_ready(process.stdout)),
                asyncio.create_task(self._read_words(process.stderr)),
            ]
            status = await process.wait()
            await _finish(reading)
        finally:
            watching.cancel()
            self.process = None
        return status

    async def _read_ready(self, stream: asyncio.StreamReader) -> None:
        while line := await stream.readline():
            if line.strip() and self._ready_since is None:
                self._ready_since = asyncio.get_running_loop().time()
                self._failures.clear()
                self.ready.set()

    async def _read_words(self, stream: asyncio.StreamReader) -> None:
        while line := await stream.readline():
            text = line.decode(errors="replace").rstrip()
            self._words.append(text)
            self._relay(self.program.name, text)

    def _judge(self, status: int) -> None:
        """Sets the pause before the next start. Raises PgschedError after too many failures."""
        now, name, how = asyncio.get_running_loop().time(), self.program.name, how_it_ended(status)
        if self._ready_since is not None:
            self._report(f"{name} ended unexpectedly ({how}); starting it again")
            if now - self._ready_since >= STEADY:
                self._pause = 0.0
                return
        self._pause = min(LONGEST_PAUSE, max(FIRST_PAUSE, self._pause * 2))
        if self._ready_since is None and status != os.EX_TEMPFAIL:
            self._failures.append(now)
            if len(self._failures) == FAILURES and now - self._failures[0] <= WINDOW:
                words = "\n".join(self._words) or "it logged nothing"
                raise PgschedError(f"{name} failed to start {FAILURES} times in a row ({how}): {words}")


def _heard() -> list[signal.Signals]:
    """Returns the signals that stop a supervisor, except those already ignored, such as SIGHUP under nohup."""
    return [number for number in _SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]


async def _finish(reading: Sequence[asyncio.Task[None]]) -> None:
    """Waits for the end of the child's output, but at most a second, because a grandchild may keep the output open."""
    _, stuck = await asyncio.wait(reading, timeout=1)
    for task in stuck:
        task.cancel()


def tell_to_stop(process: asyncio.subprocess.Process) -> None:
    """Makes a child drain and exit."""
    if process.stdin is not None and not process.stdin.is_closing():
        process.stdin.write(b"stop\n")
    with suppress(ProcessLookupError):
        process.terminate()


async def kill_if_stopped(process: asyncio.subprocess.Process, longest: float | None) -> None:
    """Kills the child once a signal has kept it stopped for ``longest`` seconds, because a stopped child can neither
    work nor exit. Does nothing on systems that cannot tell whether a child is stopped."""
    if longest is None or not hasattr(os, "waitid"):
        return
    since = None
    with suppress(ChildProcessError, ProcessLookupError):
        while since is None or time.monotonic() - since < longest:
            await asyncio.sleep(min(1.0, longest / 4))
            how = os.WSTOPPED | os.WNOHANG | os.WNOWAIT
            is_stopped = os.waitid(os.P_PID, process.pid, how) is not None  # noqa: ASYNC222  does not block
            since = (since or time.monotonic()) if is_stopped else None
        process.kill()


def how_it_ended(status: int) -> str:
    """Describes an exit status by its number, or by the name of the signal that ended the process."""
    if status >= 0:
        return f"exit status {status}"
    return signal.Signals(-status).name
