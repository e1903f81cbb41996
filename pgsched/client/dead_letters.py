"""The API's routes for dead letters: as values, and as what both clients have for them."""

from collections.abc import AsyncIterator, Iterator, Mapping
from datetime import datetime
from typing import Any, TypedDict, TypeVar, Unpack
from uuid import UUID

from pgsched.client.asks import Ask, Id, encode, identity, present, query
from pgsched.client.values import Changed, DeadLetter, DiscardedMany, Named, Page, Replay, Replaying
from pgsched.domain.schedule import instant_of

_Answer = TypeVar("_Answer")
_BOUNDS = {"start": "from", "end": "to"}


class DeadLetterFilter(TypedDict, total=False):
    """``target`` is how the target begins, ``reason`` a part of the reason; ``start`` and ``end`` bound finished_at:
    from start on, before end.
    """

    client: str | None
    target: str | None
    host: str | None
    job: Id | None
    key: str | None
    start: datetime | str | None
    end: datetime | str | None
    reason: str | None
    status_code: int | None


class ReplayOptions(TypedDict, total=False):
    """With what a dead letter is run again; what is left out stays as it was."""

    target: str
    payload: Any
    options: Mapping[str, Any]
    note: str


def list_dead_letters(state: str, limit: int, after: str | None, wanted: Mapping[str, Any]) -> Ask[Page[DeadLetter]]:
    asked = query(state=state, limit=limit, after=after, **_named(wanted))
    return Ask(method="GET", path="/v1/dead-letters", answer=Page[DeadLetter], query=asked)


def get_dead_letter(id: Id) -> Ask[DeadLetter]:
    return Ask(method="GET", path=f"/v1/dead-letters/{identity(id)}", answer=DeadLetter)


def replay(id: Id, changes: Mapping[str, Any]) -> Ask[Named]:
    body = encode(dict(changes), "the payload or options")
    return Ask(method="POST", path=f"/v1/executions/{identity(id)}/retry", answer=Named, body=body)


def discard(id: Id, note: str | None) -> Ask[Changed]:
    return Ask(method="DELETE", path=f"/v1/dead-letters/{identity(id)}", answer=Changed, query=query(note=note))


def discard_all(note: str | None, wanted: Mapping[str, Any]) -> Ask[DiscardedMany]:
    asked = query(note=note, **_named(wanted))
    return Ask(method="DELETE", path="/v1/dead-letters", answer=DiscardedMany, query=asked)


def replay_all(
    rate: float, new_target: str | None, note: str | None, dry_run: bool, wanted: Mapping[str, Any]
) -> Ask[Replaying]:
    body = {"filter": _named(wanted), "rate": rate, "target": new_target, "note": note, "dry_run": dry_run}
    return Ask(
        method="POST",
        path="/v1/dead-letters/replay",
        answer=Replaying,
        body=encode(present(body), "the filter or rate"),
    )


def get_replay(id: Id) -> Ask[Replay]:
    return Ask(method="GET", path=f"/v1/dead-letters/replays/{identity(id)}", answer=Replay)


def cancel_replay(id: Id) -> Ask[Changed]:
    return Ask(method="DELETE", path=f"/v1/dead-letters/replays/{identity(id)}", answer=Changed)


class DeadLetterCalls:
    """What ``Client`` has for dead letters."""

    def list_dead_letters(
        self, *, state: str = "open", limit: int = 50, after: str | None = None, **wanted: Unpack[DeadLetterFilter]
    ) -> Page[DeadLetter]:
        """One page, the newest first. ``state`` is ``open``, ``replayed``, ``discarded`` or ``all``."""
        return self.ask(list_dead_letters(state, limit, after, wanted))

    def iter_dead_letters(self, *, state: str = "open", **wanted: Unpack[DeadLetterFilter]) -> Iterator[DeadLetter]:
        """All of them, page by page as they are asked for."""
        page = self.list_dead_letters(state=state, limit=500, **wanted)
        yield from page.items
        while page.next is not None:
            page = self.list_dead_letters(state=state, limit=500, after=page.next, **wanted)
            yield from page.items

    def get_dead_letter(self, execution_id: Id) -> DeadLetter:
        return self.ask(get_dead_letter(execution_id))

    def replay(self, execution_id: Id, **changes: Unpack[ReplayOptions]) -> UUID:
        """Runs a dead letter again; returns the new execution's id, the same each time unless that one failed too."""
        return self.ask(replay(execution_id, changes)).id

    def replay_all(
        self,
        *,
        rate: float = 10,
        new_target: str | None = None,
        note: str | None = None,
        dry_run: bool = False,
        **wanted: Unpack[DeadLetterFilter],
    ) -> Replaying:
        """Replays those that have all of this, ``rate`` of them a second; a dry run only counts them."""
        return self.ask(replay_all(rate, new_target, note, dry_run, wanted))

    def get_replay(self, replay_id: Id) -> Replay:
        return self.ask(get_replay(replay_id))

    def cancel_replay(self, replay_id: Id) -> bool:
        """What is not replayed yet stays a dead letter; false if it had ended before."""
        return self.ask(cancel_replay(replay_id)).changed

    def discard(self, execution_id: Id, *, note: str | None = None) -> bool:
        """Takes a dead letter off the open ones; false if it was discarded before."""
        return self.ask(discard(execution_id, note)).changed

    def discard_all(self, *, note: str | None = None, **wanted: Unpack[DeadLetterFilter]) -> int:
        """Discards those that have all of this, in as many requests as it takes; returns how many."""
        done = self.ask(discard_all(note, wanted))
        total = done.discarded
        while not done.complete:
            done = self.ask(discard_all(note, wanted))
            total += done.discarded
        return total

    def ask(self, ask: Ask[_Answer]) -> _Answer:
        raise NotImplementedError


class AsyncDeadLetterCalls:
    """The same for ``AsyncClient``, awaited."""

    async def list_dead_letters(
        self, *, state: str = "open", limit: int = 50, after: str | None = None, **wanted: Unpack[DeadLetterFilter]
    ) -> Page[DeadLetter]:
        """One page, the newest first. ``state`` is ``open``, ``replayed``, ``discarded`` or ``all``."""
        return await self.ask(list_dead_letters(state, limit, after, wanted))

    async def iter_dead_letters(
        self, *, state: str = "open", **wanted: Unpack[DeadLetterFilter]
    ) -> AsyncIterator[DeadLetter]:
        """All of them, page by page as they are asked for."""
        page = await self.list_dead_letters(state=state, limit=500, **wanted)
        while True:
            for item in page.items:
                yield item
            if page.next is None:
                return
            page = await self.list_dead_letters(state=state, limit=500, after=page.next, **wanted)

    async def get_dead_letter(self, execution_id: Id) -> DeadLetter:
        return await self.ask(get_dead_letter(execution_id))

    async def replay(self, execution_id: Id, **changes: Unpack[ReplayOptions]) -> UUID:
        """Runs a dead letter again; returns the new execution's id, the same each time unless that one failed too."""
        return (await self.ask(replay(execution_id, changes))).id

    async def replay_all(
        self,
        *,
        rate: float = 10,
        new_target: str | None = None,
        note: str | None = None,
        dry_run: bool = False,
        **wanted: Unpack[DeadLetterFilter],
    ) -> Replaying:
        """Replays those that have all of this, ``rate`` of them a second; a dry run only counts them."""
        return await self.ask(replay_all(rate, new_target, note, dry_run, wanted))

    async def get_replay(self, replay_id: Id) -> Replay:
        return await self.ask(get_replay(replay_id))

    async def cancel_replay(self, replay_id: Id) -> bool:
        """What is not replayed yet stays a dead letter; false if it had ended before."""
        return (await self.ask(cancel_replay(replay_id))).changed

    async def discard(self, execution_id: Id, *, note: str | None = None) -> bool:
        """Takes a dead letter off the open ones; false if it was discarded before."""
        return (await self.ask(discard(execution_id, note))).changed

    async def discard_all(self, *, note: str | None = None, **wanted: Unpack[DeadLetterFilter]) -> int:
        """Discards those that have all of this, in as many requests as it takes; returns how many."""
        done = await self.ask(discard_all(note, wanted))
        total = done.discarded
        while not done.complete:
            done = await self.ask(discard_all(note, wanted))
            total += done.discarded
        return total

    async def ask(self, ask: Ask[_Answer]) -> _Answer:
        raise NotImplementedError


def _named(wanted: Mapping[str, Any]) -> dict[str, Any]:
    """The filter by the API's names. Raises TypeError for what is none, InvalidSchedule for a bound that is none."""
    for name in wanted.keys() - DeadLetterFilter.__annotations__.keys():
        known = ", ".join(DeadLetterFilter.__annotations__)
        raise TypeError(f"got an unexpected keyword argument {name!r}; there are {known}")
    given = present(wanted)
    for name in _BOUNDS.keys() & given.keys():
        given[name] = instant_of(given[name], name).isoformat()
    if "job" in given:
        given["job"] = str(identity(given["job"]))
    return {_BOUNDS.get(name, name): value for name, value in given.items()}
