"""kafka: targets, end to end: confirmed by the brokers, then settled."""

from tests.delivery.kafka_cluster import kafka_cluster
from tests.worker.conftest import Connection, Running, until_history, value


async def test_an_execution_is_settled_after_its_message_is_confirmed(db: Connection, running: Running) -> None:
    with kafka_cluster() as cluster:
        cluster.create("orders")
        async with running(kafka_brokers=cluster.brokers):
            id = await value(db, "select pgsched.schedule('kafka:orders', '{\"order\": 42}')::text")
            await until_history(db, 1)
        [message] = cluster.read("orders", 1)
    assert message.value() == b'{"order": 42}'
    assert message.key() == id.encode()
