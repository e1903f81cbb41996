"""Handlers for worker processes that record their calls in a file; some stop, end or fork their process."""

import asyncio
import multiprocessing
import os
import signal

import pgsched
from pgsched.delivery.handler_call import Context

app = pgsched.App()
_ledger = os.open(os.environ.get("LEDGER", os.devnull), os.O_WRONLY | os.O_APPEND | os.O_CREAT)


@app.handler("note")
async def note(context: Context) -> None:
    os.write(_ledger, f"note {context.execution_id}\n".encode())


@app.handler("stop")
async def stop(context: Context) -> None:
    """Stop the process, as if the machine hung or a handler never released the GIL."""
    os.write(_ledger, f"stop {context.execution_id}\n".encode())
    os.kill(os.getpid(), signal.SIGSTOP)


@app.handler("exit")
async def leave(context: Context) -> None:
    os.write(_ledger, f"exit {context.execution_id}\n".encode())
    os._exit(3)


def _fork(how: str) -> bool:
    """Fork. Return True in the child; the parent waits for the child's end first."""
    child = os.fork()
    if child:
        _, status = os.waitpid(child, 0)
        os.write(_ledger, f"child {how} {os.waitstatus_to_exitcode(status)}\n".encode())
    elif how == "raise":
        raise ValueError("in the child")
    elif how == "exit":
        os._exit(0)
    return not child


@app.handler("fork")
async def fork(payload: str) -> None:
    """Fork; both processes continue from here."""
    if _fork(payload) and payload == "await":
        await asyncio.sleep(60)


@app.handler("fork_in_a_task")
async def fork_in_a_task(payload: str) -> None:
    await asyncio.create_task(fork(payload))


@app.handler("fork_with_a_connection")
async def fork_with_a_connection(payload: str, connection: object) -> None:
    await fork(payload)


@app.handler("fork_in_a_thread")
def fork_in_a_thread(payload: str) -> None:
    _fork(payload)


@app.handler("fork_by_a_library")
async def fork_by_a_library() -> None:
    child = multiprocessing.get_context("fork").Process(target=_compute)
    child.start()
    child.join()
    os.write(_ledger, f"child library {child.exitcode}\n".encode())


def _compute() -> None:
    os.write(_ledger, f"sum {sum(range(1000))}\n".encode())
