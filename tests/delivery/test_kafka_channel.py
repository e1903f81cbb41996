"""kafka: targets over the real protocol, against librdkafka's mock brokers."""

import asyncio
import random
import sys
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from pgsched.delivery.kafka import KafkaChannel, Producer
from pgsched.domain.attempt_outcome import Failed, Outcome, Succeeded, Undeliverable
from pgsched.domain.body import Body
from pgsched.domain.cloudevent import CloudEvent
from pgsched.domain.execution_options import Options
from tests.delivery.kafka_cluster import (
    NO_REPLICAS,
    NOT_LEADER,
    TOO_LARGE,
    UNAUTHORIZED,
    UNKNOWN_TOPIC,
    KafkaCluster,
    kafka_cluster,
)
from tests.delivery.receiver import ID, execution

UUID = "0198c0de-0000-7000-8000-000000000001"


@pytest.fixture
def cluster() -> Iterator[KafkaCluster]:
    with kafka_cluster() as running:
        running.create("orders", partitions=4)
        yield running


@pytest.fixture
async def channel(cluster: KafkaCluster) -> AsyncIterator[KafkaChannel]:
    opened = KafkaChannel(cluster.brokers, {"topic.metadata.propagation.max.ms": 100}, rng=random.Random(1))
    yield opened
    await opened.close()


async def send(channel: KafkaChannel, target: str = "kafka:orders", **row: Any) -> Outcome:
    async with asyncio.timeout(20):
        return await channel.deliver(execution(target, **row), Options(), 20)


def failed(outcome: Outcome, says: str, *, retryable: bool = False) -> None:
    assert isinstance(outcome, Failed)
    assert says in outcome.error
    assert outcome.retryable is retryable


async def test_a_message_carries_the_payload_and_describing_headers(
    cluster: KafkaCluster, channel: KafkaChannel
) -> None:
    assert await send(channel, attempt=2) == Succeeded()
    [message] = cluster.read("orders", 1)
    assert (message.key(), message.value()) == (UUID.encode(), b'{"order": 42}')
    headers = dict(message.headers() or [])
    span = headers.pop("traceparent")
    assert headers == {
        "pgsched-execution-id": UUID.encode(),
        "pgsched-attempt": b"2",
        "pgsched-delivery-count": b"2",
        "pgsched-scheduled-for": b"2026-09-21T14:13:20Z",
        "pgsched-client": b"shop",
    }
    assert isinstance(span, bytes)
    assert span.startswith(b"00-" + ID.hex().encode())


async def test_a_message_has_the_callers_trace_and_cloud_event_headers(
    cluster: KafkaCluster, channel: KafkaChannel
) -> None:
    trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    event = CloudEvent(type="com.example.paid", source="/shop")
    async with asyncio.timeout(20):
        row = execution("kafka:orders")._replace(key="Café")
        assert await channel.deliver(row, Options(traceparent=trace, cloudevent=event), 20) == Succeeded()
    [message] = cluster.read("orders", 1)
    headers = dict(message.headers() or [])
    told = {name: text for name, text in headers.items() if not name.startswith("pgsched-")}
    assert told == {
        "traceparent": trace.encode(), "content-type": b"application/json", "ce_specversion": b"1.0",
        "ce_id": UUID.encode(), "ce_source": b"/shop", "ce_type": b"com.example.paid",
        "ce_time": b"2026-09-21T14:13:20Z", "ce_subject": "Café".encode(),
    }  # fmt: skip


async def test_a_message_body_may_be_arbitrary_bytes(cluster: KafkaCluster, channel: KafkaChannel) -> None:
    options = Options(body=Body(format="base64", type="application/avro"))
    async with asyncio.timeout(20):
        assert await channel.deliver(execution("kafka:orders")._replace(payload=b'"AP8="'), options, 20) == Succeeded()
        failed(await channel.deliver(execution("kafka:orders")._replace(payload=b'"A"'), options, 20), "base64")
    [message] = cluster.read("orders", 1)
    assert message.value() == b"\x00\xff"
    assert dict(message.headers() or [])["content-type"] == b"application/avro"


async def test_messages_with_one_ordering_key_share_a_partition_in_order(
    cluster: KafkaCluster, channel: KafkaChannel
) -> None:
    for n in range(5):
        assert await send(channel, ordering_key="order-7", payload=b"%d" % n) == Succeeded()
    messages = cluster.read("orders", 5)
    assert {message.key() for message in messages} == {b"order-7"}
    assert len({message.partition() for message in messages}) == 1
    assert [message.value() for message in messages] == [b"0", b"1", b"2", b"3", b"4"]


async def test_a_message_without_a_payload_is_empty_rather_than_a_tombstone(
    cluster: KafkaCluster, channel: KafkaChannel
) -> None:
    await send(channel, payload=None)
    assert cluster.read("orders", 1)[0].value() == b""


async def test_a_message_succeeds_only_once_brokers_confirm_it(cluster: KafkaCluster, channel: KafkaChannel) -> None:
    assert await send(channel) == Succeeded()
    cluster.stop()
    sending = asyncio.create_task(send(channel))
    done, _ = await asyncio.wait([sending], timeout=0.3)
    assert not done
    cluster.start()
    assert await sending == Succeeded()
    assert len(cluster.read("orders", 2)) == 2


async def test_confirmation_by_slow_brokers_is_awaited(cluster: KafkaCluster, channel: KafkaChannel) -> None:
    await send(channel)
    cluster.delay(200)
    started = asyncio.get_running_loop().time()
    assert await send(channel) == Succeeded()
    assert asyncio.get_running_loop().time() - started >= 0.2


@pytest.mark.parametrize("error", [NOT_LEADER, NO_REPLICAS])
async def test_temporary_errors_are_retried_within_the_attempt(
    cluster: KafkaCluster, channel: KafkaChannel, error: int
) -> None:
    cluster.answer(error)
    assert await send(channel) == Succeeded()
    assert len(cluster.read("orders", 1)) == 1


async def test_a_message_that_brokers_find_too_large_fails_for_good(
    cluster: KafkaCluster, channel: KafkaChannel
) -> None:
    cluster.answer(TOO_LARGE)
    failed(await send(channel), "MSG_SIZE_TOO_LARGE: ")


async def test_a_message_over_the_configured_size_fails_for_good(cluster: KafkaCluster) -> None:
    channel = KafkaChannel(cluster.brokers, {"message.max.bytes": 1000})
    failed(await send(channel, payload=b'"%b"' % (b"x" * 1000)), "MSG_SIZE_TOO_LARGE: ")
    await channel.close()


@pytest.mark.parametrize(
    ("error", "says"), [(UNKNOWN_TOPIC, "UNKNOWN_TOPIC_OR_PART: "), (UNAUTHORIZED, "TOPIC_AUTHORIZATION_FAILED: ")]
)
async def test_a_missing_or_forbidden_topic_fails_for_good(
    cluster: KafkaCluster, channel: KafkaChannel, error: int, says: str
) -> None:
    cluster.refuse_topic("secret", error)
    failed(await send(channel, "kafka:secret"), says)


async def test_unreachable_brokers_are_a_retryable_failure() -> None:
    channel = KafkaChannel("127.0.0.1:1", {"message.timeout.ms": 100})
    failed(await send(channel), "_MSG_TIMED_OUT: ", retryable=True)
    await channel.close()


async def test_a_cancelled_attempt_leaves_the_channel_usable(cluster: KafkaCluster, channel: KafkaChannel) -> None:
    await send(channel)
    cluster.stop()
    sending = asyncio.create_task(send(channel))
    await asyncio.wait([sending], timeout=0.1)
    sending.cancel()
    with pytest.raises(asyncio.CancelledError):
        await sending
    cluster.start()
    assert await send(channel) == Succeeded()


async def test_many_concurrent_messages_are_all_confirmed(cluster: KafkaCluster, channel: KafkaChannel) -> None:
    sent = await asyncio.gather(*(send(channel, payload=b"%d" % n) for n in range(500)))
    assert set(sent) == {Succeeded()}
    assert sorted(int(message.value() or b"") for message in cluster.read("orders", 500)) == list(range(500))


async def test_settings_cannot_disable_confirmation_or_ordering(
    cluster: KafkaCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    import confluent_kafka

    given = dict[str, Any]()

    def note(config: dict[str, Any], **_: Any) -> Any:
        given.update(config)
        return real(config)

    real = confluent_kafka.Producer
    monkeypatch.setattr(confluent_kafka, "Producer", note)
    channel = KafkaChannel(cluster.brokers, {"acks": 0, "enable.idempotence": False, "linger.ms": 1})
    assert await send(channel) == Succeeded()
    await channel.close()
    assert (given["acks"], given["enable.idempotence"], given["linger.ms"]) == ("all", True, 1)


async def test_a_worker_without_the_kafka_extra_leaves_messages_to_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "confluent_kafka", None)
    assert await send(KafkaChannel("127.0.0.1:9092", {})) == Undeliverable(capability="kafka:")


async def test_a_worker_without_configured_brokers_leaves_messages_to_others() -> None:
    assert await send(KafkaChannel(None, {})) == Undeliverable(capability="kafka:")


async def test_an_unknown_librdkafka_setting_fails_for_good() -> None:
    failed(await send(KafkaChannel("127.0.0.1:1", {"lingering": 1})), 'No such configuration property: "lingering"')


async def test_a_producer_with_a_fatal_error_is_replaced(
    cluster: KafkaCluster, channel: KafkaChannel, monkeypatch: pytest.MonkeyPatch
) -> None:
    from confluent_kafka import KafkaError, KafkaException

    async def fenced(self: Producer, *message: Any) -> None:
        raise KafkaException(KafkaError(KafkaError._FATAL, "fenced", fatal=True))

    with monkeypatch.context() as patched:
        patched.setattr(Producer, "send", fenced)
        failed(await send(channel), "_FATAL: fenced", retryable=True)
    assert await send(channel) == Succeeded()
