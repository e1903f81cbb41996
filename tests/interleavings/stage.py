"""The actors of a scene. One continues at a time, up to its next step or to a lock that another actor holds."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from pgsched.store.core.connect import Connection, connect

PATIENCE = "60s"
PATIENT = b"set idle_in_transaction_session_timeout = 0"
"""A timeout for actors, which stay within a transaction while the others act on a busy machine."""
GLANCE = 0.005
"""Seconds after which the server is asked whether an actor that has not arrived is waiting for a lock."""
Part = Callable[["Actor"], Awaitable[None]]


@dataclass(eq=False)
class Actor:
    """An actor with its own session.

    ``at`` names the step before which it has stopped; None while it is moving. ``knows`` holds the database's answers,
    which determine its uncommitted changes and what it will do next; empty once it has ended.
    """

    name: str
    connection: Connection
    at: str | None = "the beginning"
    knows: list[object] = field(default_factory=list)
    arrived: asyncio.Event = field(default_factory=asyncio.Event)
    onwards: asyncio.Event = field(default_factory=asyncio.Event)
    task: asyncio.Task[None] | None = None

    @property
    def may_go_on(self) -> bool:
        """True if it has stopped before a step."""
        return self.at is not None and not self.has_ended

    @property
    def has_ended(self) -> bool:
        """True if it has finished its part or was killed."""
        return self.at in ("the end", "killed")

    async def step(self, name: str) -> None:
        """Stops before a step until it is this actor's turn."""
        self.at = name
        self.arrived.set()
        await self.onwards.wait()
        self.onwards.clear()

    async def play(self, part: Part) -> None:
        await part(self)
        self.at = "the end"
        self.knows.clear()
        self.arrived.set()


class Stage:
    """The place where actors act. One is made for each scene; ``begin`` resets the actors."""

    def __init__(self, url: str, parts: dict[str, Part]) -> None:
        self._url, self._parts = url, parts
        self._sessions: dict[str, Connection] = {}
        self.actors: dict[str, Actor] = {}

    async def open(self) -> None:
        """Connects the actors and the watcher."""
        self.watcher = await connect(self._url, "watcher", raw=False)
        for name in self._parts:
            self._sessions[name] = session = await connect(self._url, name, patience=PATIENCE)
            await session.execute(PATIENT)

    async def close(self) -> None:
        for session in (self.watcher, *self._sessions.values()):
            await session.close()

    def begin(self) -> None:
        """Puts all actors before their first step."""
        self.actors = {name: Actor(name, session) for name, session in self._sessions.items()}

    async def advance(self, name: str) -> None:
        """Lets an actor continue until every actor has stopped before a step, at another's lock, or at the end."""
        actor = self.actors[name]
        actor.at = None
        actor.arrived.clear()
        if actor.task is None:
            actor.task = asyncio.create_task(actor.play(self._parts[name]))
        else:
            actor.onwards.set()
        await self._rest()

    async def kill(self, name: str) -> None:
        """Kills an actor where it stopped: its uncommitted changes are lost."""
        await self._end(self.actors[name])
        await self._rest()

    async def kill_all(self) -> None:
        """Kills all actors, starting with those that block others."""
        while standing := [actor for actor in self.actors.values() if actor.may_go_on]:
            for actor in standing:
                await self._end(actor)
            await self._rest()

    async def _end(self, actor: Actor) -> None:
        actor.at = "killed"
        actor.knows.clear()
        if actor.task is not None:
            actor.task.cancel()
            await asyncio.gather(actor.task, return_exceptions=True)
        await actor.connection.rollback()

    async def _rest(self) -> None:
        """Returns once no actor is moving, except those that wait for a lock."""
        while moving := [actor for actor in self.actors.values() if actor.at is None]:
            arriving = [asyncio.ensure_future(actor.arrived.wait()) for actor in moving]
            tasks = [actor.task for actor in moving if actor.task is not None]
            done, _ = await asyncio.wait([*arriving, *tasks], timeout=GLANCE, return_when=asyncio.FIRST_COMPLETED)
            for arrival in arriving:
                arrival.cancel()
            for actor in moving:
                if actor.task is not None and actor.task.done():
                    actor.task.result()
            if not done and await self._all_wait(moving):
                return

    async def _all_wait(self, moving: list[Actor]) -> bool:
        """True if each of these waits for a lock."""
        pids = [actor.connection.info.backend_pid for actor in moving]
        query = "select count(*) from unnest(%s::int[]) pid where cardinality(pg_blocking_pids(pid)) > 0"
        found = await (await self.watcher.execute(query, [pids])).fetchone()
        return found == (len(moving),) and all(actor.at is None for actor in moving)
