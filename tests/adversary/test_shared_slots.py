"""A worker's limited resources: a second client's slow attempts take only that client's share, and the first client
does not notice."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from tests.adversary.attack import Attack, Means
from tests.adversary.attacks.targets import call
from tests.adversary.conftest import Scene
from tests.adversary.verdict import Figures, alone, calm, judge
from tests.adversary.ways import Ways, all_ways

pytestmark = pytest.mark.attack

_SLEEPS = """
create or replace function public.mallory_sleeps(payload jsonb) returns void language sql as $$ select pg_sleep(60) $$;
grant execute on function public.mallory_sleeps to public"""
_LARGE = (
    "insert into pgsched.executions (client_id, target, payload, fire_at, options) select 'mallory',"
    " 'python:mallory_slow', to_jsonb(repeat('x', 900000)), now(), '{\"timeout\": \"6s\", \"max_attempts\": 1}'"
    " from generate_series(1, 100)"
)
_BRIEF, _LONG = '{"timeout": "1s", "max_attempts": 1}', '{"timeout": "6s", "max_attempts": 1}'

Mount = Callable[[Means, Ways], None]


@dataclass(frozen=True, slots=True)
class Stage:
    """The installation, the first client's ways to use it, and the client's figures without an attack."""

    scene: Scene
    ways: Ways
    usual: Figures


@pytest.fixture(scope="module")
def stage(scene: Scene) -> Iterator[Stage]:
    with all_ways(scene.house) as ways:
        alone(scene.house, 1.5)  # uses every way once, which opens its connections
        yield Stage(scene, ways, calm(scene.house))
    scene.house.restart()  # workers keep open connections, and the server allows few


def functions_that_outlast_their_time(means: Means, ways: Ways) -> None:
    call(means, "python:mallory_keeps_a_thread", 300, _BRIEF)


def functions_that_keep_their_threads(means: Means, ways: Ways) -> None:
    call(means, "python:mallory_keeps_a_thread", 300, _LONG)


def handlers_that_keep_their_connections(means: Means, ways: Ways) -> None:
    call(means, "python:mallory_keeps_a_connection", 60, _LONG)


def functions_that_keep_their_sessions(means: Means, ways: Ways) -> None:
    means.house.owner.execute(_SLEEPS.encode())
    call(means, "sql:public.mallory_sleeps", 60, _LONG)


def callbacks_that_hang_at_the_same_host(means: Means, ways: Ways) -> None:
    call(means, f"{ways.receiver.url}/hang", 400, _LONG)


def handlers_that_keep_large_payloads(means: Means, ways: Ways) -> None:
    for _ in range(3):
        means.commit(_LARGE)


def all_of_it(means: Means, ways: Ways) -> None:
    for mount in _EACH:
        mount(means, ways)


_EACH: list[Mount] = [
    functions_that_outlast_their_time,
    functions_that_keep_their_threads,
    handlers_that_keep_their_connections,
    functions_that_keep_their_sessions,
    callbacks_that_hang_at_the_same_host,
    handlers_that_keep_large_payloads,
]


@pytest.mark.parametrize("mount", [*_EACH, all_of_it])
def test_one_clients_slow_calls_do_not_affect_another_client(stage: Stage, mount: Mount) -> None:
    house = stage.scene.house
    attack = Attack(mount.__name__, lambda means: mount(means, stage.ways), 3.0, False, None)
    verdict = judge(house, attack, stage.usual)
    found = [*verdict.problems, *verdict.figures, *verdict.refusals[:5], house.log()]
    if verdict.problems:
        house.restart()
    assert not verdict.problems, "\n".join(found)
