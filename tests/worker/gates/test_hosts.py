"""A host has one name, however targets spell it."""

from tests.delivery.receiver import receiving
from tests.worker.conftest import Connection, Running, until, until_history, value

HELD = "select count(*) from pgsched.executions where gate = %s and fire_at = 'infinity'"


async def test_a_host_has_one_limit_whatever_its_spelling_in_targets(running: Running, db: Connection) -> None:
    async with receiving() as receiver:
        name = receiver.url.removeprefix("http://")
        address, _, port = name.partition(":")
        await db.execute("select pgsched.set_limit('host', %s, rate => 1, per => '1 hour')", [f"{address}.:{port}"])
        for target in (f"http://{name}/", f"HTTP://{address}.:{port}/", f"http://{address}:{port:0>5}?a"):
            await db.execute("insert into pgsched.executions (target, fire_at) values (%s, now())", [target])
        async with running():
            await until(lambda: value(db, HELD + " having count(*) = 2", f"host:{name}"))
            await until_history(db, 1)
    assert len(receiver.requests) == 1
