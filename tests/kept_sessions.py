"""Sessions of workers and of the API that are kept from test to test.

A worker has ten sessions. To open them, and to plan all that they say, took more of the server than what most tests
have a worker do. So a session that is closed in good order is cleared of all but its prepared statements, and the next
worker on the same database gets it for the same role, unless a session that began now would have other settings.
"""

from collections import defaultdict
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

from psycopg import AsyncConnection, sql
from psycopg._preparing import PrepareManager
from psycopg.conninfo import conninfo_to_dict
from psycopg.pq import ConnStatus, ExecStatus, PGconn, PipelineStatus, TransactionStatus, abc

# What a session has counted would otherwise be reported during a later test.
_CLEARED = b"""
reset session authorization; reset role; reset all; close all; unlisten *; select pg_advisory_unlock_all();
discard temp; discard sequences; select pg_stat_force_next_flush();"""
_NAMED = sql.SQL("set application_name = {};")
_SETTINGS = b"""
select string_agg(s::text, ' ' order by s::text) from pg_db_role_setting s
 where setdatabase in (0, (select oid from pg_database where datname = current_database()))"""


def is_cleared(pgconn: abc.PGconn, and_then: bytes) -> bool:
    """Clears all session state but prepared statements. Returns False if that was not possible."""
    done = pgconn.exec_(_CLEARED + and_then)
    while pgconn.notifies():
        pass
    return done.status == ExecStatus.COMMAND_OK


class _Use(NamedTuple):
    """What a session can be used for again."""

    role: str
    options: str


@dataclass(frozen=True, slots=True)
class _Idle:
    use: _Use
    pgconn: abc.PGconn
    prepared: PrepareManager
    settings: bytes | None


_IDLE: defaultdict[str, list[_Idle]] = defaultdict(list)  # by the address of their database


def idle_pids(url: str) -> list[int]:
    """The processes of a database's sessions that are kept."""
    return [one.pgconn.backend_pid for one in _IDLE[_place(url)] if one.pgconn.status == ConnStatus.OK]


def end_idle(url: str) -> None:
    """Ends those of a database that is dropped."""
    for one in _IDLE.pop(_place(url), []):
        one.pgconn.finish()


def _place(url: str) -> str:
    """The address without the worker's name."""
    parts = conninfo_to_dict(url)
    parts.pop("fallback_application_name", None)
    return str(sorted(parts.items()))


class KeptConnection(AsyncConnection[tuple[Any, ...]]):
    """A connection that tests put in place of psycopg's: its session outlives it."""

    _place: str
    _use: _Use
    _settings: bytes | None

    @classmethod
    async def connect(cls, conninfo: str = "", *, application_name: str, **given: Any) -> Self:  # type: ignore[override]
        place, use = _place(conninfo), _Use(" ".join(application_name.split()[:2]), str(sorted(given.items())))
        made = await cls._kept(place, use, application_name)
        if made is None:
            made = await super().connect(conninfo, application_name=application_name, **given)
            made._settings = made.pgconn.exec_(_SETTINGS).get_value(0, 0)
        made._place, made._use = place, use
        return made

    @classmethod
    async def _kept(cls, place: str, use: _Use, name: str) -> Self | None:
        for one in [one for one in _IDLE[place] if one.use == use]:
            _IDLE[place].remove(one)
            found = one.pgconn.exec_(_NAMED.format(name).as_bytes() + _SETTINGS)
            if found.status == ExecStatus.TUPLES_OK and found.get_value(0, 0) == one.settings:
                made = cls(one.pgconn)
                await made.set_autocommit(True)
                made._prepared, made._settings = one.prepared, one.settings
                return made
            one.pgconn.finish()  # a test has ended it, or changed what sessions begin with
        return None

    async def close(self) -> None:
        if not self._is_idle() or not is_cleared(self.pgconn, b"set application_name = 'between tests'"):
            await super().close()
            return
        _IDLE[self._place].append(_Idle(self._use, self.pgconn, self._prepared, self._settings))
        self.pgconn = PGconn()  # as one that was closed

    def _is_idle(self) -> bool:
        """Whether nothing is under way on it, and nobody waits for what it may say."""
        free = not self.closed and not self.lock.locked() and self.pgconn.pipeline_status == PipelineStatus.OFF
        return free and self.pgconn.transaction_status == TransactionStatus.IDLE
