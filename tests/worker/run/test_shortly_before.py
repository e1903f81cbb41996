"""Rows in a worker's memory that change shortly before their instant do not start as they were."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from itertools import pairwise, product
from typing import Any, LiteralString

import orjson
import psycopg
import pytest

from pgsched.delivery.app import App
from tests.delivery.receiver import Receiver, Request, receiving
from tests.worker.conftest import Connection, Running, until, value

CHANGES: dict[str, LiteralString] = {
    "cancel": "select pgsched.cancel(client => %(client)s, key => 'a')",
    "move": """select pgsched.edit(client => %(client)s, key => 'a',
               changes => jsonb_build_object('fire_at', now() + interval '1 h'))""",
    "edit": """select pgsched.edit(client => %(client)s, key => 'a', changes =>
               jsonb_build_object('payload', jsonb_build_object('who', %(client)s || '/a', 'state', 'new')))""",
    "hold": "select pgsched.pause('client', %(client)s)",
    "pause": "select pgsched.pause('job', id::text) from pgsched.jobs where client_id = %(client)s",
    "edit job": """select pgsched.edit(id, jsonb_build_object('payload', payload || '{"state": "new"}'))
                   from pgsched.jobs where client_id = %(client)s""",
}
OF_A_JOB = {"pause", "edit job"}
BEFORE = 0.020, 0.070, 0.110, 0.160
CALLS = "http", "waits", "blocks", "once"
ONCE = '{"max_attempts": 1}'
TAKES, APART = 0.4, 0.025
MARGIN, MARGIN_OF_GATES = 0.05, 0.1
_IDS = "select client_id, id::text from pgsched.executions where key = 'a' or job_id is not null"
_LEFT = """
select count(*) = 0 from pgsched.executions
 where fire_at < now() + interval '50 min' or key = 'b' and not starts_with(client_id, 'hold ')"""
_JOB = """
insert into pgsched.jobs (client_id, key, target, payload, options, ordering_key, every, anchor)
values (%(client)s, 'a', %(target)s, %(payload)s, %(options)s, %(order)s, '1 h',
        to_timestamp(%(at)s) - interval '1 h')"""
_ONCE = """
select pgsched.schedule(%(target)s, %(payload)s, to_timestamp(%(at)s), client => %(client)s, key => %(key)s,
                        ordering_key => %(order)s, options => %(options)s::jsonb)"""


@dataclass
class Call:
    """A call that was made. Moments are seconds since 1970."""

    who: str
    state: str
    began: float
    ended: float = float("inf")


class Calls:
    """Records the calls of an app and of an HTTP target, which all take a while."""

    def __init__(self) -> None:
        self.app, self.made = App(), list[Call]()
        self.receiver = Receiver(self.respond)

        @self.app.handler("waits")
        async def wait(payload: dict[str, str]) -> None:
            call = self.begin(payload)
            try:
                await asyncio.sleep(TAKES)
            finally:
                call.ended = time.time()

        @self.app.handler("blocks")
        def block(payload: dict[str, str]) -> None:
            call = self.begin(payload)
            time.sleep(TAKES)
            call.ended = time.time()

    def begin(self, payload: dict[str, str]) -> Call:
        call = Call(payload["who"], payload["state"], time.time())
        self.made.append(call)
        return call

    async def respond(self, request: Request, writer: asyncio.StreamWriter) -> None:
        call = self.begin(orjson.loads(request.body))
        with suppress(TimeoutError):
            await asyncio.wait_for(self.receiver.left(writer), TAKES)
        call.ended = time.time()
        writer.write(b"HTTP/1.1 204 No Content\r\n\r\n")


@dataclass(frozen=True)
class Member:
    """A change shortly before the instant of a call that is alone or has a successor under its ordering key."""

    change: str
    before: float
    call: str
    ordered: bool
    at: float

    @property
    def client(self) -> str:
        return f"{self.change} {self.before * 1000:g} ms before {self.call}{' in order' if self.ordered else ''}"

    async def schedule(self, db: Connection, url: str) -> None:
        targets = {"http": url, "blocks": "python:blocks"}
        given: dict[str, Any] = {"client": self.client, "target": targets.get(self.call, "python:waits")}
        given |= {"order": "o" if self.ordered else None, "options": ONCE if self.call == "once" else None}
        for key, at in [("a", self.at), *([("b", self.at + 0.005)] if self.ordered else [])]:
            payload = orjson.dumps({"who": f"{self.client}/{key}", "state": "old"}).decode()
            query = _JOB if key == "a" and self.change in OF_A_JOB else _ONCE
            await db.execute(query, {**given, "key": key, "at": at, "payload": payload})

    async def make(self, sessions: asyncio.Queue[Connection]) -> float:
        """Make the change. Returns when it was committed, or infinity if it was refused because the call had begun."""
        await asyncio.sleep(self.at - self.before - time.time())
        db = await sessions.get()
        try:
            await db.execute(CHANGES[self.change], {"client": self.client})
        except psycopg.errors.DatabaseError as refused:
            if refused.sqlstate != "PS011":
                raise
            return float("inf")
        else:
            return time.time()
        finally:
            sessions.put_nowait(db)

    def faults(self, made: list[Call], changed: float) -> list[str]:
        """What was wrong with the calls made, given that the worker has known of the change since ``changed``."""
        first, next_ = ([call for call in made if call.who == f"{self.client}/{key}"] for key in "ab")
        found = []
        margin = MARGIN_OF_GATES if self.change == "hold" else MARGIN
        if late := [call for call in first if call.state == "old" and call.began > changed + margin]:
            found.append(f"began {late[0].began - changed:.3f} s after the change")
        if self.change == "hold" and any(call.began > changed + margin for call in next_):
            found.append("its successor began although the client is on hold")
        if self.change == "cancel" and self.call != "blocks":
            found += [f"went on for {call.ended - changed:.3f} s" for call in first if call.ended > changed + TAKES / 2]
        whole = sorted([*first, *next_], key=lambda call: call.began)
        if self.ordered and any(one.ended > other.began for one, other in pairwise(whole)):
            found.append("two of an ordering key overlap")
        if self.change != "hold" and len(next_) != self.ordered:
            found.append(f"its successor was called {len(next_)} times")
        if self.change in ("edit", "edit job") and changed < float("inf") and len(first) != 1:
            found.append(f"it was called {len(first)} times")
        return [f"{self.client}: {text}" for text in found]


@asynccontextmanager
async def several(url: str, count: int) -> AsyncIterator[asyncio.Queue[Connection]]:
    """Database sessions, each for one change at a time."""
    sessions = asyncio.Queue[Connection]()
    for _ in range(count):
        sessions.put_nowait(await psycopg.AsyncConnection.connect(url, autocommit=True))
    try:
        yield sessions
    finally:
        while not sessions.empty():
            await sessions.get_nowait().close()


@pytest.mark.timed
async def test_a_change_shortly_before_an_executions_start_takes_effect(
    db: Connection, database_url: str, running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls, heard, start = Calls(), list[tuple[float, str]](), time.time() + 5
    cast = product(BEFORE, CHANGES, CALLS, (False, True))
    members = [
        Member(change, before, call, ordered, start + n * APART)
        for n, (before, change, call, ordered) in enumerate(cast)
    ]
    async with (
        receiving(calls.respond) as calls.receiver,
        running(calls.app, concurrency=60) as worker,
        several(database_url, 6) as sessions,
    ):
        take = worker.parts.listener._hints.take

        def hear(payload: str) -> None:
            heard.append((time.time(), payload))
            take(payload)

        monkeypatch.setattr(worker.parts.listener._hints, "take", hear)
        for member in members:
            await member.schedule(db, calls.receiver.url)
        await until(lambda: value(db, "select count(*) = 0 from pgsched.jobs where planned_revision = 0"))
        ids = dict(await (await db.execute(_IDS)).fetchall())
        assert time.time() < start - 0.5, "the machine is too slow"
        changed = await asyncio.gather(*(member.make(sessions) for member in members))
        await until(lambda: value(db, _LEFT))
    faults = list[str]()
    for member, at in zip(members, changed, strict=True):
        told = [moment for moment, payload in heard if ids[member.client] in payload]
        faults += member.faults(calls.made, max([at, *told[:1]]))
    assert not faults, "\n".join(faults)
