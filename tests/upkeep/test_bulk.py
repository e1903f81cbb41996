"""Clients share the time for bulk operations."""

from collections.abc import Sequence
from typing import Any, cast
from uuid import UUID

import pytest

from pgsched.store.bulk.operation_types import Active, Chunk
from pgsched.telemetry import Events
from pgsched.upkeep import bulk
from pgsched.upkeep.bulk import Bulk


class Nothing:
    """A stand-in for a connection that is not used."""

    async def get(self) -> None:
        return None

    async def drop(self, error: BaseException | None = None) -> None:
        return None


class Noting(Bulk):
    """Records which operations advance. Each takes ``parts`` chunks."""

    name = "noting"

    def __init__(self, requests: Sequence[Active], parts: int) -> None:
        super().__init__(cast(Any, Nothing()), cast(Any, Nothing()), Events())
        self.left = dict.fromkeys((one.id for one in requests), parts)
        self.requests, self.done = requests, list[UUID]()

    async def active(self, connection: Any) -> Sequence[Active]:
        return [one for one in self.requests if self.left[one.id]]

    async def advance(self, one: Active) -> Chunk:
        self.done.append(one.id)
        self.left[one.id] -= 1
        return Chunk(1, more=self.left[one.id] > 0, finished=False)


def requests(*clients: Sequence[str | None]) -> list[Active]:
    return [Active(id=UUID(int=number), action="cancel", clients=list(of)) for number, of in enumerate(clients, 1)]


@pytest.mark.parametrize("of", [["a"], ["a", "c"], [None]])
async def test_a_bulk_operation_waits_for_at_most_one_chunk_of_another_clients(of: list[str | None]) -> None:
    service = Noting(requests(*[of] * 100, ["b"]), parts=3)
    assert await service.turn() == 1.0
    assert [service.done.index(UUID(int=101)), len(service.done)] == [1, 303]
    assert [at for at, id in enumerate(service.done) if id == UUID(int=101)][-1] < 30


async def test_multi_client_bulk_operations_give_a_client_no_extra_share() -> None:
    service = Noting(requests(["a"], *[["a", f"c{number}"] for number in range(50)], ["b"]), parts=2)
    await service.turn()
    assert service.done.index(UUID(int=52)) <= 52
    assert service.done.count(UUID(int=52)) == 2


async def test_the_bulk_operation_that_has_waited_longest_advances_next(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk, "_TURN", 0.0)
    service = Noting(requests(["a"], ["a"], ["a"]), parts=5)
    for _ in range(6):
        assert await service.turn() == 0.0
    assert service.done == [UUID(int=number) for number in (1, 2, 3, 1, 2, 3)]
