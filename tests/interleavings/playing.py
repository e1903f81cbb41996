"""The scenes: which actors act on which rows."""

from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from typing import Any, LiteralString

from pgsched.store.core.connect import Connection, connect
from pgsched.store.core.wire import to_instant
from tests.interleavings.exploring import Found, explore
from tests.interleavings.jobs import JobScene
from tests.interleavings.scenes import Scene
from tests.interleavings.stage import PATIENCE, Part, Stage
from tests.interleavings.workers import client, reaper, worker

CANCEL = "select pgsched.cancel(client => 'shop', key => 'a')"
MOVE = (
    "select pgsched.edit(client => 'shop', key => 'a',"
    " changes => jsonb_build_object('fire_at', now() + interval '1 hour'))"
)
EDIT = "select pgsched.edit(client => 'shop', key => 'a', changes => '{\"target\": \"python:y\"}')"
EDIT_JOB = 'select pgsched.edit((select id from pgsched.jobs), \'{"target": "python:y"}\')'
HOLD = "select pgsched_internal.shut_gate('client:shop', 'infinity', 'stop')"
PAUSE = "select pgsched.pause('job', (select id::text from pgsched.jobs))"
RESUME = "select pgsched.resume('job', (select id::text from pgsched.jobs))"
ALL = '{"on_missed": "all"}'
OVERLAPPING = '{"on_missed": "all", "on_overlap": "allow"}'
SKIPPING = '{"on_missed": "all", "on_overlap": "skip"}'
CANCELLING = '{"on_missed": "all", "on_overlap": "cancel_running"}'
Cast = Callable[[str, Scene], dict[str, Part]]


@dataclass(frozen=True, kw_only=True)
class Play:
    """The actors, the rows they act on, and the actors that may die alone."""

    cast: Cast
    mortals: frozenset[str] = frozenset()
    keys: tuple[str, ...] = ("a",)
    options: str | None = None
    ordering_key: str | None = None
    limited: bool = False
    rated: bool = False
    one_by_one: bool = False

    def scene(self, url: str, session: Connection) -> Scene:
        return Scene(url=url, session=session, **_of_the_scene(self))


@dataclass(frozen=True, kw_only=True)
class JobPlay:
    """A play about a recurring job."""

    cast: Cast
    mortals: frozenset[str] = frozenset()
    rules: str = "{}"
    overlapping: bool = False

    def scene(self, url: str, session: Connection) -> Scene:
        return JobScene(url=url, session=session, now=to_instant(datetime.now(UTC)), **_of_the_scene(self))


def _of_the_scene(play: Play | JobPlay) -> dict[str, Any]:
    return {field.name: getattr(play, field.name) for field in fields(play) if field.name != "cast"}


def two(ends: str = "succeeded", *, once: bool = False, claims: int = 1) -> Cast:
    return lambda url, scene: {
        "first": worker(url, scene, 1, ends=ends, once=once, claims=claims),
        "second": worker(url, scene, 2, ends=ends, once=once),
        "reaper": reaper(scene, [1]),
    }


def one_and(query: LiteralString, ends: str = "succeeded", *, claims: int = 1, hears: bool = False) -> Cast:
    return lambda url, scene: {
        "first": worker(url, scene, 1, ends=ends, claims=claims, hears=hears),
        "reaper": reaper(scene, [1]),
        "client": client(scene, query),
    }


def all_and(query: LiteralString, ends: str = "succeeded") -> Cast:
    return lambda url, scene: {**two(ends)(url, scene), "client": client(scene, query)}


def two_and(query: LiteralString) -> Cast:
    return lambda url, scene: {
        "first": worker(url, scene, 1, ends="succeeded"),
        "second": worker(url, scene, 2, ends="succeeded"),
        "client": client(scene, query),
    }


def paused(*, hears: bool = False) -> Cast:
    return lambda url, scene: {
        "first": worker(url, scene, 1, ends="succeeded", claims=1 if hears else 2, hears=hears),
        "client": client(scene, PAUSE),
        "another": client(scene, RESUME),
        "reaper": reaper(scene, [1]),
    }


PLAYS: dict[str, Play | JobPlay] = {
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
    "one in an hour": Play(cast=two(), keys=("a", "b"), rated=True),
    "one in an hour, retried": Play(cast=two("retried"), rated=True),
    "a job that makes up for each instant": JobPlay(cast=two(claims=2), rules=ALL),
    "a job whose runs may overlap": JobPlay(cast=two(claims=2), rules=OVERLAPPING, overlapping=True),
    "a job that makes up for the latest": JobPlay(cast=two()),
    "a job whose runs do not overlap": JobPlay(cast=two(claims=2), rules=SKIPPING),
    "a job whose runs end the one before": JobPlay(cast=two(claims=2), rules=CANCELLING),
    "a job cancelled meanwhile": JobPlay(cast=one_and(CANCEL, claims=2), rules=ALL),
    "a job edited meanwhile": JobPlay(cast=one_and(EDIT_JOB, claims=2), rules=ALL),
    "a job paused and resumed": JobPlay(cast=paused(), rules=ALL),
    "all and a cancellation": Play(cast=all_and(CANCEL), mortals=frozenset({"first", "second"})),
    "all and a move": Play(cast=all_and(MOVE), mortals=frozenset({"first", "second"})),
    "all and a cancellation of a retry": Play(cast=all_and(CANCEL, "retried"), mortals=frozenset({"first"})),
    "an ordering key whose call is cancelled": Play(
        cast=two_and(CANCEL), keys=("a", "b"), ordering_key="o", one_by_one=True
    ),
    "cancelled before it begins": Play(cast=one_and(CANCEL, hears=True)),
    "held before it begins": Play(cast=one_and(HOLD, hears=True)),
    "a job cancelled before its run begins": JobPlay(cast=one_and(CANCEL, hears=True), rules=ALL),
    "a job edited before its run begins": JobPlay(cast=one_and(EDIT_JOB, hears=True), rules=ALL),
    "a job paused before its run begins": JobPlay(cast=one_and(PAUSE, hears=True), rules=ALL),
    "a job paused and resumed before its run begins": JobPlay(cast=paused(hears=True), rules=ALL),
    "an ordering key and a cancellation": Play(cast=all_and(CANCEL), keys=("a", "b"), ordering_key="o"),
}
SMALL = (
    "two workers and a reaper",
    "cancelled meanwhile",
    "a job that makes up for the latest",
    "cancelled before it begins",
    "held before it begins",
    "an ordering key whose call is cancelled",
)


async def play(name: str, *urls: str) -> Found:
    """Explores a scene in every order, one order at a time in each of these databases. Raises AssertionError with the
    order that goes wrong."""
    wanted = PLAYS[name]
    async with AsyncExitStack() as open_ones:
        played = []
        for url in urls:
            session = await connect(url, "account", patience=PATIENCE)
            open_ones.push_async_callback(session.close)
            scene = wanted.scene(url, session)
            stage = Stage(url, wanted.cast(url, scene))
            await stage.open()
            open_ones.push_async_callback(stage.close)
            played.append((stage, scene))
        return await explore(played)
