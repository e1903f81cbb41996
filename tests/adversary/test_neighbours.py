"""A second client attacks by SQL, REST and NOTIFY; the first client must not notice. See ``attacks``."""

import pytest

from tests.adversary import attacks
from tests.adversary.attack import Attack
from tests.adversary.conftest import Scene
from tests.adversary.verdict import judge

pytestmark = pytest.mark.attack

_ALL = attacks.every()


def test_executions_are_on_time_without_an_attack(scene: Scene) -> None:
    assert scene.usual.count > 50
    assert scene.usual.late < 0.5


@pytest.mark.parametrize("attack", _ALL, ids=[attack.name for attack in _ALL])
def test_an_attack_by_one_client_does_not_affect_another_client(scene: Scene, attack: Attack) -> None:
    verdict = judge(scene.house, attack, scene.usual)
    found = [*verdict.problems, *verdict.figures, *verdict.refusals[:5], scene.house.log()]
    if verdict.problems:
        scene.house.restart()
    assert not verdict.problems, "\n".join(found)
