"""The process that runs suspected executions one by one: how a worker starts it, and how it says what it will run.

It is a worker of the same settings and application (``pgsched worker --alone FD``). Before each execution it writes a
line to that pipe. Its standard input is a lifeline, as that of a supervised process: it drains when its worker is gone.
"""

import asyncio
import dataclasses
import os
from collections.abc import Callable
from pathlib import Path
from uuid import UUID

from pgsched.cli.child import counting_words, longest_stop, program
from pgsched.cli.supervisor import HAND_BACK, how_it_ended, kill_if_stopped, tell_to_stop
from pgsched.domain.execution import ClaimedExecution
from pgsched.settings import Settings
from pgsched.worker.run.process_exit import ExitStatus
from pgsched.worker.run.witness import Ended, Running, Trying

_LANES = 8
_NOTHING = b"-"
_WELL = 0, os.EX_TEMPFAIL
"""The exit statuses of a process that is done, and of one that cannot reach the database."""
_LONGEST_LINE = 10_000


class Alone:
    """Starts the process, and runs it to its end."""

    def __init__(self, settings: Settings, count_into: Path | None) -> None:
        self._counts = counting_words(count_into)
        # One at a time all the same; the rest is for threads that outlive their attempts.
        self._settings = dataclasses.replace(settings, processes=1, concurrency=_LANES, metrics="")

    async def __call__(self, trying: Trying) -> Ended:
        """Waits for the process to end. If this is cancelled, the process drains first."""
        with _Heard(trying) as heard:
            process = await self._start(heard, trying)
            watching = asyncio.create_task(kill_if_stopped(process, longest_stop(self._settings)))
            try:
                status = await process.wait()
            except asyncio.CancelledError:
                await self._drain(process)
                raise
            finally:
                watching.cancel()
            heard.read_all()
            is_well = trying.running is None and status in _WELL
            return Ended(how=None if is_well else _how(status), running=trying.running)

    async def _start(self, heard: "_Heard", trying: Trying) -> asyncio.subprocess.Process:
        without = [f"--without={client}" for client in trying.without]
        started = program("alone", ["worker", "--alone", str(heard.writing), *without, *self._counts], self._settings)
        process = await asyncio.create_subprocess_exec(
            *started.command,
            stdin=asyncio.subprocess.PIPE,
            env=dict(started.environment),
            pass_fds=(heard.writing,),
            start_new_session=True,  # a terminal's Ctrl-C reaches it through the worker
        )
        heard.begin()
        return process

    async def _drain(self, process: asyncio.subprocess.Process) -> None:
        tell_to_stop(process)
        try:
            async with asyncio.timeout(self._settings.drain_timeout + HAND_BACK):
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()


def _how(status: int) -> str:
    return ExitStatus(status).words if status in {*ExitStatus} else how_it_ended(status)


def teller(pipe: int) -> Callable[[ClaimedExecution | None], None]:
    """Returns a function that the process calls before it runs an execution, and with None when it is done."""
    said = b""

    def tell(row: ClaimedExecution | None) -> None:
        nonlocal said
        before, said = said, f"{row.partition} {row.uuid} {row.token} {row.client_id}".encode() if row else _NOTHING
        if said != before:
            os.write(pipe, said.replace(b"\n", b" ") + b"\n")

    return tell


class _Heard:
    """The worker's end of the pipe. Only the last line counts."""

    def __init__(self, trying: Trying) -> None:
        self._trying = trying

    def __enter__(self) -> "_Heard":
        self._reading, self.writing = os.pipe()
        os.set_blocking(self._reading, False)
        self._said = b""
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.get_running_loop().remove_reader(self._reading)
        os.close(self._reading)
        if self.writing >= 0:
            os.close(self.writing)

    def begin(self) -> None:
        """Closes the end of the pipe that the process has inherited, and begins to read."""
        os.close(self.writing)
        self.writing = -1
        asyncio.get_running_loop().add_reader(self._reading, self._read)

    def read_all(self) -> None:
        """Reads what is left once the process has ended."""
        while self._read():
            pass

    def _running(self) -> Running | None:
        line = self._said.rpartition(b"\n")[0].rpartition(b"\n")[2]
        if line in {b"", _NOTHING}:
            return None
        partition, id, token, client = line.decode().split(" ", 3)
        return Running(partition=int(partition), id=UUID(id), token=int(token), client=client)

    def _read(self) -> bool:
        """Reads a piece; false at the end of what there is."""
        try:
            said = os.read(self._reading, 65_536)
        except BlockingIOError:
            return False
        if not said:
            asyncio.get_running_loop().remove_reader(self._reading)
        self._said = (self._said + said)[-_LONGEST_LINE:]
        self._trying.hears(self._running())
        return bool(said)
