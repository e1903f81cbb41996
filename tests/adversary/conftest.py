"""An installation for all attacks, on a separate server, and the first client's figures without an attack."""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from pgsched.embedded import EmbeddedPostgres
from tests.adversary.attack import Attack
from tests.adversary.house import House, house
from tests.adversary.server import attacked
from tests.adversary.turns import Turns
from tests.adversary.verdict import Figures, calm

_LONG = 4.0


@dataclass(frozen=True, slots=True)
class Scene:
    """The attacked installation, and its figures without an attack."""

    house: House
    usual: Figures


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Runs the longest attacks first, so that no core waits for them at the end."""
    items.sort(key=_seconds, reverse=True)


def _seconds(item: pytest.Item) -> float:
    """Returns how long an attack is measured, or 0 for short ones."""
    given = getattr(item, "callspec", None)
    attack = given.params.get("attack") if given else None
    return attack.seconds if isinstance(attack, Attack) and attack.seconds >= _LONG else 0.0


@pytest.fixture(scope="session")
def attacked_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedPostgres]:
    with attacked(tmp_path_factory.mktemp("attacked") / "postgres") as running:
        yield running


@pytest.fixture(scope="session")
def scene(attacked_server: EmbeddedPostgres, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    turns = Turns(tmp_path_factory.getbasetemp().parent)
    with house(attacked_server.url, tmp_path_factory.mktemp("adversary"), turns) as built:
        yield Scene(built, calm(built))
