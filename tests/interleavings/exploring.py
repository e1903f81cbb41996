"""Goes through all orders in which the actors of a scene can act."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from tests.interleavings.stage import Stage


class Choice(NamedTuple):
    """Who goes on, or is killed."""

    name: str
    dies: bool = False

    def __str__(self) -> str:
        return f"{self.name} dies" if self.dies else self.name


class Scene(Protocol):
    """What is acted: how it begins, what must hold at each moment, and at the end of all."""

    mortals: frozenset[str]
    """Who may die alone. All may die together at any moment."""

    async def set_up(self) -> None: ...
    async def look(self) -> Hashable:
        """The state of the database; raises AssertionError where it must not be."""
        ...

    async def finish(self) -> None:
        """A last worker does what is left; raises AssertionError where the account is not right then."""
        ...


@dataclass
class Found:
    """How many states there are, and in how many ways they were reached."""

    states: int = 0
    ways: int = 0


async def explore(stage: Stage, scene: Scene) -> Found:
    """Tries every order. A failure names the choices that led to it."""
    found, seen = Found(), set[Hashable]()
    ways: list[tuple[Choice, ...]] = [()]
    while ways:
        way = ways.pop()
        found.ways += 1
        try:
            state = await act(stage, scene, way)
            if state not in seen:
                seen.add(state)
                found.states += 1
                ways += [(*way, choice) for choice in choices(stage, scene)]
                await stage.kill_all()
                await scene.look()
                await scene.finish()
            else:
                await stage.kill_all()
        except AssertionError as wrong:
            raise AssertionError(f"after {', '.join(map(str, way)) or 'nothing'}: {wrong}") from wrong
    return found


async def act(stage: Stage, scene: Scene, way: Sequence[Choice]) -> Hashable:
    """The state to which these choices lead from the beginning."""
    await scene.set_up()
    stage.begin()
    state: Hashable = None
    for choice in way:
        await (stage.kill(choice.name) if choice.dies else stage.advance(choice.name))
        state = await scene.look()
    return state, tuple((actor.at, tuple(actor.knows)) for actor in stage.actors.values())


def choices(stage: Stage, scene: Scene) -> list[Choice]:
    """What may come next."""
    able = [name for name, actor in stage.actors.items() if actor.may_go_on]
    begun = [name for name in able if stage.actors[name].task is not None and name in scene.mortals]
    return [Choice(name) for name in able] + [Choice(name, dies=True) for name in begun]
