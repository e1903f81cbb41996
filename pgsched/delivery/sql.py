"""sql: targets. Calls clients' functions with the payload, in the transaction that settles the execution.

A function runs in a session of its client's role (``core.client_role_sessions``), never with the worker's rights. Each
call is one transaction: the function's writes are committed together with the completion or not at all. If the
connection breaks during the commit, the call is made again. If the first call was in fact committed, the second is
refused, because its lease token is no longer valid.
"""

import asyncio
from collections.abc import Callable
from datetime import timedelta
from functools import lru_cache, partial

import psycopg

from pgsched.delivery.exception_outcomes import outcome_of
from pgsched.delivery.slots import Slots, alone
from pgsched.domain.attempt_outcome import LONGEST_ERROR, AlreadySettled, Failed, Outcome
from pgsched.domain.execution import ClaimedExecution
from pgsched.domain.execution_options import Options
from pgsched.store.core.client_role_sessions import Connection, SaidTooMuch, Sessions, cut
from pgsched.store.ends import transactional_targets

_PREFIX = len("sql:")
_TIMED_OUT, _UNDEFINED = "57014", "42883"
_NO_ROLE = (
    "client {client} has no role for calling functions; set its database_role, or sql_role for all clients without one"
)
_GRACE = 2.0  # seconds that a cancelled function has to end by itself before its connection is cut
# Errors in the set-up or the request, which another attempt would only repeat.
_FINAL = {
    _UNDEFINED: "write create function {name}(payload jsonb)",
    "3F000": "the schema must exist, and the role {role} must have usage on it and on pgsched",
    "42501": "grant the role {role} execute on the function, usage on its schema, and pgsched_client",
    "42809": "the target must be a function, not a procedure",
    "42725": "exactly one function of this name must accept a jsonb",
    "21000": "the function must return one row",
    "2D000": "the function cannot commit, because it is committed with its execution",
    "PS000": "", "PS001": "", "PS002": "", "PS003": "", "PS004": "", "PS010": "", "PS012": "",
}  # fmt: skip


class SqlChannel:
    """Calls sql: targets. ``role_of`` returns the role under which a client's functions are called, or None."""

    def __init__(
        self, sessions: Sessions, *, role_of: Callable[[str], str | None], is_shared: Callable[[], bool] = alone
    ) -> None:
        self._sessions, self._role_of = sessions, role_of
        self._slots = Slots("sessions that call functions", sessions.most, is_shared=is_shared)

    async def deliver(self, execution: ClaimedExecution, options: Options, deadline: float) -> Outcome:
        """Makes one call, which the server cancels after ``deadline`` seconds."""
        role = self._role_of(execution.client_id)
        if role is None:
            return Failed(error=_NO_ROLE.format(client=execution.client_id), retryable=False)
        self._slots.take(execution.client_id)
        try:
            await self._sessions.work(role, partial(_call, execution, role, deadline))
        except Exception as error:
            if _is_cancelled():  # either the connection was cut, or the function ended by itself
                raise asyncio.CancelledError from error
            if isinstance(error, SaidTooMuch):
                return Failed(error=str(error), retryable=True)
            if isinstance(error, psycopg.Error) and error.sqlstate:
                return _failed(error, execution.target[_PREFIX:], role, deadline)
            return outcome_of(error)
        finally:
            self._slots.give_back(execution.client_id)
        return AlreadySettled()

    async def close(self) -> None:
        await self._sessions.close()


async def _call(execution: ClaimedExecution, role: str, deadline: float, connection: Connection) -> None:
    """Makes the call. psycopg waits until the server confirms a cancellation. If the function ignores the cancellation,
    a timer cuts the connection."""
    guard = asyncio.get_running_loop().call_later(deadline + _GRACE, cut, connection)
    try:
        function = function_of(execution.target)
        await transactional_targets.call_target(connection, execution, function, role, timedelta(seconds=deadline))
    finally:
        guard.cancel()


@lru_cache(maxsize=4096)
def function_of(target: str) -> tuple[str, str]:
    """Returns the schema and name of a target's function, in lower case like unquoted names in SQL."""
    schema, _, name = target[_PREFIX:].lower().partition(".")
    return schema, name


def _failed(error: psycopg.Error, name: str, role: str, deadline: float) -> Failed:
    """Returns the outcome of a call that raised an error or could not be made."""
    state = error.sqlstate or ""
    message = f"{state}: {(error.diag.message_primary or str(error))[:LONGEST_ERROR]}"
    if state == _TIMED_OUT:
        message = f"no answer within {round(deadline, 3):g} s"
    elif hint := _hint(error, state, name, role):
        message += f" ({hint})"
    return Failed(error=message, retryable=state not in _FINAL)


def _hint(error: psycopg.Error, state: str, name: str, role: str) -> str:
    """Returns advice on the error. An undefined function is not necessarily the target's: the target's function may
    have called it."""
    ours = _FINAL.get(state, "").format(name=name, role=role)
    if state == _UNDEFINED and name not in (error.diag.message_primary or ""):
        ours = ""
    return ours or (error.diag.message_hint or "")[:LONGEST_ERROR]


def _is_cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
