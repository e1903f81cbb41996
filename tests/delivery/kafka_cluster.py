"""An in-process Kafka cluster that speaks the real protocol over TCP: librdkafka's mock brokers.

It is called through the library bundled with confluent-kafka, so that tests can also make brokers fail.
"""

import ctypes
import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from confluent_kafka import OFFSET_BEGINNING, Consumer, Message, TopicPartition

PRODUCE = 0  # the API key of a produce request in Kafka's protocol
UNKNOWN_TOPIC, TOO_LARGE, NOT_LEADER, NO_REPLICAS, UNAUTHORIZED = 3, 10, 6, 19, 29

_PRODUCER = 0


def _library() -> ctypes.CDLL:
    found = importlib.util.find_spec("confluent_kafka")
    assert found is not None
    assert found.origin is not None
    [path] = (Path(found.origin).parents[1] / "confluent_kafka.libs").glob("librdkafka-*")
    library = ctypes.CDLL(str(path))
    for name in ("rd_kafka_conf_new", "rd_kafka_new", "rd_kafka_mock_cluster_new"):
        getattr(library, name).restype = ctypes.c_void_p
    library.rd_kafka_mock_cluster_bootstraps.restype = ctypes.c_char_p
    return library


class KafkaCluster:
    """Mock brokers and the controls that tests need."""

    def __init__(self, brokers: int) -> None:
        self._library = _library()
        said = ctypes.create_string_buffer(512)
        config = ctypes.c_void_p(self._library.rd_kafka_conf_new())
        self._client = ctypes.c_void_p(self._library.rd_kafka_new(_PRODUCER, config, said, 512))
        self._cluster = ctypes.c_void_p(self._library.rd_kafka_mock_cluster_new(self._client, brokers))
        self.brokers: str = self._library.rd_kafka_mock_cluster_bootstraps(self._cluster).decode()

    def create(self, topic: str, *, partitions: int = 1) -> None:
        assert not self._library.rd_kafka_mock_topic_create(self._cluster, topic.encode(), partitions, 1)

    def refuse_topic(self, topic: str, error: int) -> None:
        """Makes brokers answer requests for this topic with the error."""
        self._library.rd_kafka_mock_topic_set_error(self._cluster, topic.encode(), error)

    def answer(self, *errors: int) -> None:
        """Makes brokers answer the next produce requests with these errors."""
        array = (ctypes.c_int * len(errors))(*errors)
        self._library.rd_kafka_mock_push_request_errors_array(self._cluster, PRODUCE, len(errors), array)

    def delay(self, milliseconds: int, *, broker: int = 1) -> None:
        """Delays each answer of the broker."""
        assert not self._library.rd_kafka_mock_broker_set_rtt(self._cluster, broker, milliseconds)

    def stop(self, broker: int = 1) -> None:
        assert not self._library.rd_kafka_mock_broker_set_down(self._cluster, broker)

    def start(self, broker: int = 1) -> None:
        assert not self._library.rd_kafka_mock_broker_set_up(self._cluster, broker)

    def read(self, topic: str, count: int) -> list[Message]:
        """Reads the first ``count`` messages of the topic."""
        consumer = Consumer({"bootstrap.servers": self.brokers, "group.id": topic})
        try:
            partitions = consumer.list_topics(topic, timeout=15).topics[topic].partitions
            consumer.assign([TopicPartition(topic, partition, OFFSET_BEGINNING) for partition in partitions])
            messages = list[Message]()
            while len(messages) < count:
                found = consumer.poll(15)
                assert found is not None, f"{len(messages)} of {count} messages"
                messages.append(found)
            assert all(message.error() is None for message in messages)
            return messages
        finally:
            consumer.close()

    def close(self) -> None:
        self._library.rd_kafka_mock_cluster_destroy(self._cluster)
        self._library.rd_kafka_destroy(self._client)


@contextmanager
def kafka_cluster(brokers: int = 1) -> Iterator[KafkaCluster]:
    """Runs a cluster of ``brokers`` brokers, numbered from 1."""
    cluster = KafkaCluster(brokers)
    try:
        yield cluster
    finally:
        cluster.close()
