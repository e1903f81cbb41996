"""Explores all orders in which the actors of a scene can act.

Each order is played from the beginning, since a database with open transactions cannot be copied. Each distinct state
is continued from only once: two orders that lead to the same rows, the same account and the same knowledge of all
actors have the same future. Short orders come first, so a failure names one of the shortest.
"""

import asyncio
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from tests.interleavings.stage import Stage


class Choice(NamedTuple):
    """The actor that continues next or is killed."""

    name: str
    dies: bool = False

    def __str__(self) -> str:
        return f"{self.name} dies" if self.dies else self.name


class Scene(Protocol):
    """A scene: how it begins, and what must hold at each moment and at the end."""

    mortals: frozenset[str]
    """The actors that may die alone. All may die together at any moment."""

    async def set_up(self) -> None: ...
    async def look(self) -> Hashable:
        """Returns the state of the database. Raises AssertionError if the state is invalid."""
        ...

    async def finish(self) -> None:
        """A last worker does what is left. Raises AssertionError if the account is then wrong."""
        ...


@dataclass
class Found:
    """The number of states, and the number of orders that reached them."""

    states: int = 0
    ways: int = 0


async def explore(played: Sequence[tuple[Stage, Scene]]) -> Found:
    """Tries every order of a scene, one at a time on each stage. A failure names the choices that led to it."""
    exploration = Exploration()
    while exploration.ways:
        round, exploration.ways = exploration.ways, []
        await asyncio.gather(*(exploration.work_off(round, stage, scene) for stage, scene in played))
    return exploration.found


class Exploration:
    """``ways`` are the orders of the next round; each is one choice longer than those of this round."""

    def __init__(self) -> None:
        self.found, self.ways = Found(), list[tuple[Choice, ...]]([()])
        self._seen = set[Hashable]()

    async def work_off(self, round: list[tuple[Choice, ...]], stage: Stage, scene: Scene) -> None:
        while round:
            way = round.pop()
            try:
                await self._go(way, stage, scene)
            except AssertionError as wrong:
                raise AssertionError(f"after {', '.join(map(str, way)) or 'nothing'}: {wrong}") from wrong

    async def _go(self, way: tuple[Choice, ...], stage: Stage, scene: Scene) -> None:
        state = await act(stage, scene, way)
        self.found.ways += 1
        if is_new := state not in self._seen:
            self._seen.add(state)
            self.found.states += 1
            self.ways += [(*way, choice) for choice in choices(stage, scene)]
        await stage.kill_all()
        if is_new:
            await scene.look()
            await scene.finish()


async def act(stage: Stage, scene: Scene, way: Sequence[Choice]) -> Hashable:
    """Returns the state that these choices lead to. All states but the last have been checked before."""
    await scene.set_up()
    stage.begin()
    state: Hashable = None
    for left, choice in zip(range(len(way) - 1, -1, -1), way, strict=True):
        await (stage.kill(choice.name) if choice.dies else stage.advance(choice.name))
        if left <= 1:  # the holders before the last choice are part of the account
            state = await scene.look()
    return state, tuple((actor.at, tuple(actor.knows)) for actor in stage.actors.values())


def choices(stage: Stage, scene: Scene) -> list[Choice]:
    """Returns the choices that are possible next."""
    able = [name for name, actor in stage.actors.items() if actor.may_go_on]
    begun = [name for name in able if stage.actors[name].task is not None and name in scene.mortals]
    return [Choice(name) for name in able] + [Choice(name, dies=True) for name in begun]
