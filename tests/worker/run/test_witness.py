"""What runs alone may take its time: others do not wait behind it, but in another process."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from uuid import UUID, uuid4

import pytest

from pgsched.events import Events
from pgsched.store.core.connect import Link
from pgsched.worker.gates.capabilities import Capabilities
from pgsched.worker.roster import Roster
from pgsched.worker.run import witness as module
from pgsched.worker.run.witness import Ended, Running, Trying, Witness
from tests.worker.conftest import Connection, Recorder, value

CAPABILITY = frozenset({"python:work"})


class Processes:
    """Has each process that is started wait until it is to end."""

    def __init__(self) -> None:
        self.started: list[Trying] = []
        self.ended: list[asyncio.Future[Ended]] = []

    async def __call__(self, trying: Trying) -> Ended:
        self.started.append(trying)
        self.ended.append(asyncio.get_running_loop().create_future())
        return await self.ended[-1]

    def end(self, number: int, how: str | None) -> None:
        """Has it end while it runs what it was heard of, if anything."""
        self.ended[number].set_result(Ended(how=how, running=self.started[number].running))


@pytest.fixture
def processes() -> Processes:
    return Processes()


@pytest.fixture
async def witness(
    database_url: str, processes: Processes, recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Witness]:
    monkeypatch.setattr(module, "_LONG", 0.0)
    link = Link(database_url, "upkeep")
    roster = Roster(name="test", instance="test", queues=["default"], lease=timedelta(seconds=30))
    capabilities = Capabilities(link, Events(recorder), roster, mine=lambda: CAPABILITY)
    capabilities.to_try = CAPABILITY
    made = Witness(link, Events(recorder), capabilities, start=processes)
    yield made
    await made.end()
    await link.drop()


async def held(db: Connection, client: str) -> UUID:
    """An execution of this client's that is to run alone."""
    await db.execute("insert into pgsched.clients (client_id) values (%s) on conflict do nothing", [client])
    id = await value(db, "select pgsched.schedule('python:work', client => %s)", client)
    await db.execute(
        "update pgsched.executions set fire_at = 'infinity', gate = 'alone:python:work', losses = 2 where id = %s", [id]
    )
    return UUID(str(id))


async def turn(witness: Witness) -> None:
    await witness.turn()
    await asyncio.sleep(0)  # what it has started begins


def runs(client: str) -> Running:
    return Running(partition=0, id=uuid4(), token=1, client=client)


async def test_one_process_is_started_for_all_that_is_held(
    db: Connection, witness: Witness, processes: Processes
) -> None:
    await turn(witness)
    assert not processes.started
    await held(db, "mallory")
    await held(db, "first")
    for _ in range(3):
        await turn(witness)
    assert [trying.without for trying in processes.started] == [[]]


async def test_another_passes_over_the_client_whose_execution_takes_long(
    db: Connection, witness: Witness, processes: Processes
) -> None:
    await held(db, "mallory")
    await held(db, "first")
    await turn(witness)
    processes.started[0].hears(runs("mallory"))
    for _ in range(3):
        await turn(witness)
    assert [trying.without for trying in processes.started] == [[], ["mallory"]]


async def test_none_is_started_for_the_same_client(db: Connection, witness: Witness, processes: Processes) -> None:
    for _ in range(3):
        await held(db, "mallory")
    await turn(witness)
    processes.started[0].hears(runs("mallory"))
    for _ in range(3):
        await turn(witness)
    assert len(processes.started) == 1


async def test_there_are_four_at_the_most(db: Connection, witness: Witness, processes: Processes) -> None:
    for number in range(7):
        await held(db, f"client-{number}")
    for number in range(7):
        await turn(witness)
        if number < len(processes.started):
            processes.started[number].hears(runs(f"client-{number}"))
    assert [len(trying.without) for trying in processes.started] == [0, 1, 2, 3]


async def test_whichever_ends_is_judged_by_what_it_ran(
    db: Connection, witness: Witness, processes: Processes, recorder: Recorder
) -> None:
    ids = {client: await held(db, client) for client in ("mallory", "first")}
    for number, client in enumerate(ids):
        await turn(witness)
        await db.execute("update pgsched.executions set lease_token = 1, lease_owner = 1 where id = %s", [ids[client]])
        partition = await value(db, "select partition from pgsched.executions where id = %s", ids[client])
        processes.started[number].hears(Running(partition=partition, id=ids[client], token=1, client=client))
    processes.end(1, "SIGKILL")
    await asyncio.sleep(0)
    await turn(witness)
    found = await value(db, "select client_id from pgsched.executions where gate = 'error'")
    assert found == "first"
    assert [told["execution"] for told in recorder.named("execution.quarantined")] == [str(ids["first"])]
