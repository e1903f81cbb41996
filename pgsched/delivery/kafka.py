"""kafka: targets: the payload as a message of a topic, confirmed by the brokers before the execution is settled.

So each is sent at least once: again when a worker is lost between the confirmation and the settle. Consumers know a
repeat by the header ``pgsched-execution-id``. Messages of one ordering key have it as their key, and so one partition.
"""

import random
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

from pgsched.delivery.channel import Verdict, outcome_of
from pgsched.delivery.producer import Producer
from pgsched.domain.capability import KAFKA
from pgsched.domain.execution import Execution, instant_text
from pgsched.domain.outcome import Failed, Outcome, Succeeded, Undeliverable
from pgsched.domain.policy import Options

_PREFIX = len("kafka:")
_SENT = Succeeded()
# Errors that another try would meet again; any other may pass.
_FINAL = frozenset(
    {
        "_UNKNOWN_TOPIC", "_UNKNOWN_PARTITION", "_INVALID_ARG", "UNKNOWN_TOPIC_OR_PART", "TOPIC_EXCEPTION",
        "MSG_SIZE_TOO_LARGE", "INVALID_MSG_SIZE", "RECORD_LIST_TOO_LARGE", "INVALID_RECORD", "POLICY_VIOLATION",
        "TOPIC_AUTHORIZATION_FAILED", "CLUSTER_AUTHORIZATION_FAILED",
    }
)  # fmt: skip


class KafkaChannel:
    """Sends to kafka: targets. ``brokers`` are host:port by commas; ``config`` has further settings of librdkafka. The
    producer is made for the first execution that needs it."""

    def __init__(self, brokers: str | None, config: Mapping[str, Any], *, rng: random.Random | None = None) -> None:
        self._config = {**({"bootstrap.servers": brokers} if brokers else {}), **config}
        self._producer: Producer | None = None
        self._rng = rng or random.Random()

    @property
    def can_send(self) -> bool:
        """Whether it knows brokers, and the extra ``pgsched[kafka]`` is installed."""
        return "bootstrap.servers" in self._config and find_spec("confluent_kafka") is not None

    async def deliver(self, execution: Execution, options: Options, deadline: float) -> Outcome:
        """Sends one message. The caller may cancel the wait for its confirmation; the message may arrive all the
        same."""
        producer = None
        try:
            producer = self._open()
            topic, key = execution.target[_PREFIX:], execution.ordering_key or execution.uuid
            # A value of null would have a compacted topic forget the key.
            await producer.send(topic, key, execution.payload or b"", _headers(execution, self._rng))
        except Exception as error:
            return outcome_of(await self._verdict_on(error, producer))
        return _SENT

    async def close(self) -> None:
        producer, self._producer = self._producer, None
        if producer is not None:
            await producer.close()

    def _open(self) -> Producer:
        if self._producer is None:
            if not self.can_send:
                raise KafkaNotConfigured
            self._producer = Producer(self._config)
        return self._producer

    async def _verdict_on(self, error: Exception, producer: Producer | None) -> Exception:
        """The verdict on an error of librdkafka; other exceptions are returned as they are."""
        said: Any = error.args[0] if error.args else None
        if not hasattr(said, "fatal"):
            return error
        if said.fatal() and producer is self._producer:  # it cannot send any more; the next attempt makes a new one
            await self.close()
        return Unsendable(f"{said.name()}: {said.str()}", retryable=said.name() not in _FINAL)


class KafkaNotConfigured(Verdict):
    """This worker knows no brokers, or the extra is not installed; another worker may be able to send."""

    def __init__(self) -> None:
        super().__init__(
            "this worker knows no Kafka: set kafka_brokers, or PGSCHED_KAFKA_BROKERS=host:9092, and pip install "
            "'pgsched[kafka]'",
            Undeliverable(capability=KAFKA),
        )


class Unsendable(Verdict):
    """The message could not be sent."""

    def __init__(self, message: str, *, retryable: bool = False) -> None:
        super().__init__(message, Failed(error=message, retryable=retryable))


def _headers(execution: Execution, rng: random.Random) -> list[tuple[str, str | bytes | None]]:
    """The same words, and the same trace, as a callback's."""
    return [
        ("pgsched-execution-id", execution.uuid),
        ("pgsched-attempt", str(execution.attempt)),
        ("pgsched-scheduled-for", instant_text(execution.scheduled_for)),
        ("pgsched-client", execution.client_id),
        ("traceparent", f"00-{execution.id.hex()}-{rng.getrandbits(64) or 1:016x}-00"),
    ]
