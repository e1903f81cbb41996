"""The scenes: who acts upon what."""

from collections.abc import Callable
from dataclasses import dataclass

from pgsched.store.core.connect import connect
from tests.interleavings.exploring import Found, explore
from tests.interleavings.scenes import Scene
from tests.interleavings.stage import PATIENCE, Part, Stage
from tests.interleavings.workers import client, reaper, worker

CANCEL = "select pgsched.cancel('shop', 'a')"
MOVE = "select pgsched.reschedule('shop', 'a', now() + interval '1 hour')"
EDIT = "select pgsched.edit_execution('shop', 'a', '{\"target\": \"python:y\"}')"
Cast = Callable[[str, Scene], dict[str, Part]]


@dataclass(frozen=True, kw_only=True)
class Play:
    """Who acts upon which rows, and who may die of itself."""

    cast: Cast
    mortals: frozenset[str] = frozenset()
    keys: tuple[str, ...] = ("a",)
    options: str | None = None
    ordering_key: str | None = None
    limited: bool = False


def two(ends: str = "succeeded", *, once: bool = False) -> Cast:
    return lambda url, scene: {
        "first": worker(url, scene, 1, ends=ends, once=once),
        "second": worker(url, scene, 2, ends=ends, once=once),
        "reaper": reaper(scene, [1]),
    }


def one_and(query: str, ends: str = "succeeded") -> Cast:
    return lambda url, scene: {
        "first": worker(url, scene, 1, ends=ends),
        "reaper": reaper(scene, [1]),
        "client": client(scene, query),
    }


def all_and(query: str, ends: str = "succeeded") -> Cast:
    return lambda url, scene: {**two(ends)(url, scene), "client": client(scene, query)}


PLAYS = {
    "two workers and a reaper": Play(cast=two()),
    "two workers whose calls fail": Play(cast=two("failed")),
    "two workers whose calls are retried": Play(cast=two("retried")),
    "one attempt": Play(cast=two(once=True), options='{"max_attempts": 1}'),
    "one attempt that fails": Play(cast=two("failed", once=True), options='{"max_attempts": 1}'),
    "cancelled meanwhile": Play(cast=one_and(CANCEL)),
    "cancelled while it fails": Play(cast=one_and(CANCEL, "retried")),
    "moved meanwhile": Play(cast=one_and(MOVE)),
    "edited meanwhile": Play(cast=one_and(EDIT)),
    "an ordering key": Play(cast=two(), keys=("a", "b"), ordering_key="o"),
    "one at a time": Play(cast=two(), keys=("a", "b"), limited=True),
    "all and a cancellation": Play(cast=all_and(CANCEL), mortals=frozenset({"first", "second"})),
    "all and a move": Play(cast=all_and(MOVE), mortals=frozenset({"first", "second"})),
    "all and a cancellation of a retry": Play(cast=all_and(CANCEL, "retried"), mortals=frozenset({"first"})),
    "an ordering key and a cancellation": Play(cast=all_and(CANCEL), keys=("a", "b"), ordering_key="o"),
}
SMALL = "two workers and a reaper", "cancelled meanwhile"


async def play(url: str, name: str) -> Found:
    """Goes through a scene in every order; raises AssertionError with the order that goes wrong."""
    wanted = PLAYS[name]
    session = await connect(url, "account", patience=PATIENCE)
    scene = Scene(
        url=url, session=session, mortals=wanted.mortals, keys=wanted.keys, options=wanted.options,
        ordering_key=wanted.ordering_key, limited=wanted.limited,
    )  # fmt: skip
    stage = Stage(url, wanted.cast(url, scene))
    await stage.open()
    try:
        return await explore(stage, scene)
    finally:
        await stage.close()
        await session.close()
