"""Handlers for worker processes, which note in a file what is called; and one under which its process stops."""

import os
import signal

import pgsched
from pgsched.delivery.handlers import Context

app = pgsched.App()
_ledger = os.open(os.environ.get("LEDGER", os.devnull), os.O_WRONLY | os.O_APPEND | os.O_CREAT)


@app.handler("note")
async def note(context: Context) -> None:
    os.write(_ledger, f"note {context.execution_id}\n".encode())


@app.handler("stop")
async def stop(context: Context) -> None:
    """As where a machine hangs, or a handler does not let go of the interpreter's lock."""
    os.write(_ledger, f"stop {context.execution_id}\n".encode())
    os.kill(os.getpid(), signal.SIGSTOP)


@app.handler("exit")
async def leave(context: Context) -> None:
    os.write(_ledger, f"exit {context.execution_id}\n".encode())
    os._exit(3)
