"""kafka: targets. Sends the payload as a message to a topic. The execution is settled when the brokers have confirmed
the message.

If the worker is lost between the confirmation and the settling, the message is sent again. Consumers recognize a repeat
by the header ``pgsched-execution-id``. The ordering key is the message's key, so messages with the same ordering key go
to the same partition.

A process has one librdkafka producer, and one thread that receives its delivery reports. Creating a producer requires
``pip install 'pgsched[kafka]'``, but importing this module does not.
"""

import asyncio
import logging
import random
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import Any

from pgsched.delivery.exception_outcomes import outcome_of
from pgsched.domain.attempt_outcome import Failed, Outcome, Succeeded, Undeliverable
from pgsched.domain.capability import KAFKA
from pgsched.domain.execution import ClaimedExecution, instant_text, uuid_text
from pgsched.domain.execution_options import Options
from pgsched.domain.trace import own_traceparent
from pgsched.errors import InvalidPayload

_POLL_SECONDS = 0.2
_LAST_SECONDS = 2.0
_DEFAULTS: dict[str, Any] = {
    "client.id": "pgsched",
    "message.timeout.ms": 30_000,
    "receive.message.max.bytes": 16 * 1024 * 1024,  # limits the memory used for metadata and confirmations
    "topic.metadata.propagation.max.ms": 5_000,  # a topic that does not appear within this time is unknown
}
# With these settings, a confirmed message is on every in-sync replica, exactly once. Messages with the same key stay in
# order.
_OURS: dict[str, Any] = {"acks": "all", "enable.idempotence": True}
_log = logging.getLogger("pgsched.kafka")
_PREFIX = len("kafka:")
_SENT = Succeeded()
# Errors that another attempt would only repeat. Any other error may be temporary.
_FINAL = frozenset(
    {
        "_UNKNOWN_TOPIC", "_UNKNOWN_PARTITION", "_INVALID_ARG", "UNKNOWN_TOPIC_OR_PART", "TOPIC_EXCEPTION",
        "MSG_SIZE_TOO_LARGE", "INVALID_MSG_SIZE", "RECORD_LIST_TOO_LARGE", "INVALID_RECORD", "POLICY_VIOLATION",
        "TOPIC_AUTHORIZATION_FAILED", "CLUSTER_AUTHORIZATION_FAILED",
    }
)  # fmt: skip


class Producer:
    """Sends messages and waits for their delivery reports.

    Raises ImportError if the extra is not installed, and confluent_kafka's KafkaException for an invalid configuration.
    """

    def __init__(self, config: Mapping[str, Any]) -> None:
        import confluent_kafka

        self._producer = confluent_kafka.Producer(_DEFAULTS | dict(config) | _OURS, logger=_log)
        self._failure = confluent_kafka.KafkaException
        self._loop = asyncio.get_running_loop()
        self._reports: deque[tuple[asyncio.Future[None], Any]] = deque()
        self._closing = False
        self._thread = threading.Thread(target=self._poll, name="pgsched-kafka", daemon=True)
        self._thread.start()

    async def send(self, topic: str, key: str, value: bytes, headers: Sequence[tuple[str, str | bytes | None]]) -> None:
        """Sends a message, and returns when the brokers have confirmed it. Raises KafkaException if the brokers refuse
        the message, and BufferError if too many messages are waiting. After a cancellation, the message may still
        arrive."""
        delivered = self._loop.create_future()
        self._producer.produce(
            topic, value, key, headers=list(headers), on_delivery=lambda error, _: self._report(delivered, error)
        )
        await delivered

    async def close(self) -> None:
        """Closes the producer, after waiting up to two seconds for confirmations. All attempts must have ended."""
        self._closing = True
        await asyncio.to_thread(self._thread.join)
        await asyncio.to_thread(self._producer.flush, _LAST_SECONDS)

    def _poll(self) -> None:
        while not self._closing:
            self._producer.poll(_POLL_SECONDS)

    def _report(self, delivered: asyncio.Future[None], error: Any) -> None:
        """Queues a report for the event loop, from the producer's thread. Reports that arrive together wake the loop
        once."""
        self._reports.append((delivered, error))
        if len(self._reports) == 1:
            self._loop.call_soon_threadsafe(self._hear)

    def _hear(self) -> None:
        while self._reports:
            delivered, error = self._reports[0]
            if delivered.done():
                pass  # the attempt was cancelled
            elif error is None:
                delivered.set_result(None)
            else:
                delivered.set_exception(self._failure(error))
            self._reports.popleft()


class KafkaChannel:
    """Sends to kafka: targets. ``brokers`` is a list of host:port separated by commas; ``config`` contains
    further librdkafka settings. The producer is created for the first execution."""

    def __init__(self, brokers: str | None, config: Mapping[str, Any], *, rng: random.Random | None = None) -> None:
        self._config = {**({"bootstrap.servers": brokers} if brokers else {}), **config}
        self._producer: Producer | None = None
        self._rng = rng or random.Random()

    @property
    def can_send(self) -> bool:
        """Whether brokers are set and the extra ``pgsched[kafka]`` is installed."""
        return "bootstrap.servers" in self._config and find_spec("confluent_kafka") is not None

    async def deliver(self, execution: ClaimedExecution, options: Options, deadline: float) -> Outcome:
        """Sends one message and waits for its confirmation. After a cancellation, the message may still arrive."""
        if self._producer is None and not self.can_send:  # another worker may have both the brokers and the extra
            return Undeliverable(capability=KAFKA)
        producer = None
        try:
            producer = self._producer = self._producer or Producer(self._config)
            topic, key = execution.target[_PREFIX:], execution.ordering_key or execution.uuid
            # Without a payload, the value is empty rather than null, because null would delete the key from a compacted
            # topic.
            await producer.send(topic, key, _value(execution, options), _headers(execution, options, self._rng))
        except InvalidPayload as error:  # the database refuses such a payload, but copied rows may have one
            return Failed(error=str(error), retryable=False)
        except Exception as error:
            return await self._outcome_of(error, producer)
        return _SENT

    async def close(self) -> None:
        producer, self._producer = self._producer, None
        if producer is not None:
            await producer.close()

    async def _outcome_of(self, error: Exception, producer: Producer | None) -> Outcome:
        said: Any = error.args[0] if error.args else None
        if not hasattr(said, "fatal"):  # not a librdkafka error
            return outcome_of(error)
        if said.fatal() and producer is self._producer:  # the producer is unusable; the next attempt creates a new one
            await self.close()
        return Failed(error=f"{said.name()}: {said.str()}", retryable=said.name() not in _FINAL)


def _value(execution: ClaimedExecution, options: Options) -> bytes:
    payload = execution.payload or b""
    return options.body.of(payload) if payload and options.body is not None else payload


def _of_event(execution: ClaimedExecution, options: Options) -> list[tuple[str, str | bytes | None]]:
    """Returns the headers for the CloudEvents attributes, as the Kafka binding defines them, and for the value's
    content type."""
    kind = "application/json" if options.body is None else options.body.type
    if options.cloudevent is None:
        return [] if options.body is None else [("content-type", kind)]
    named = [(f"ce_{name}", text) for name, text in options.cloudevent.attributes(execution)]
    return [("content-type", kind), *named]


def _headers(execution: ClaimedExecution, options: Options, rng: random.Random) -> list[tuple[str, str | bytes | None]]:
    """Returns the headers that messages and callbacks have in common, including the trace."""
    return [
        ("pgsched-execution-id", execution.uuid),
        ("pgsched-attempt", str(execution.attempt)),
        ("pgsched-delivery-count", str(execution.delivery_count)),
        ("pgsched-scheduled-for", instant_text(execution.scheduled_for)),
        ("pgsched-client", execution.client_id),
        *([] if execution.key is None else [("pgsched-key", execution.key)]),
        *([] if execution.job_id is None else [("pgsched-job", uuid_text(execution.job_id))]),
        ("traceparent", options.traceparent or own_traceparent(execution.id, rng)),
        *_of_event(execution, options),
    ]
