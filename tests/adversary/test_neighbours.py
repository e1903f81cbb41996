"""A second client does all it can by SQL, REST and NOTIFY, and the first does not notice: see ``attacks``."""

import pytest

from tests.adversary import attacks
from tests.adversary.attack import Attack
from tests.adversary.conftest import Scene
from tests.adversary.verdict import judge

pytestmark = pytest.mark.attack

_ALL = attacks.every()


def test_alone_the_first_client_is_on_time(scene: Scene) -> None:
    assert scene.usual.count > 50
    assert scene.usual.late < 0.5


@pytest.mark.parametrize("attack", _ALL, ids=[attack.name for attack in _ALL])
def test_a_neighbour_does_not_hurt(scene: Scene, attack: Attack) -> None:
    verdict = judge(scene.house, attack, scene.usual)
    found = [*verdict.problems, *verdict.figures, *verdict.refusals[:5], scene.house.log()]
    if verdict.problems:
        scene.house.restart()
    assert not verdict.problems, "\n".join(found)
