"""librdkafka's producer on an event loop: one for each process, and the thread that receives its delivery reports.

Needs the extra: ``pip install 'pgsched[kafka]'``. Importing this module does not, making a producer does.
"""

import asyncio
import logging
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

_POLL_SECONDS = 0.2
_LAST_SECONDS = 2.0
_DEFAULTS: dict[str, Any] = {
    "client.id": "pgsched",
    "message.timeout.ms": 30_000,
    "topic.metadata.propagation.max.ms": 5_000,  # a topic that is not there after that is taken for unknown
}
# A message that was confirmed is on every replica in sync, and once, in the order of its key.
_OURS: dict[str, Any] = {"acks": "all", "enable.idempotence": True}
_log = logging.getLogger("pgsched.kafka")


class Producer:
    """Sends messages and waits for their delivery reports.

    Raises ImportError without the extra, and confluent_kafka's KafkaException for a configuration it cannot use.
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
        """Returns once the brokers have confirmed the message. Raises KafkaException when they did not, and BufferError
        when too many wait already; a message whose sender does not wait any more may arrive all the same."""
        delivered = self._loop.create_future()
        self._producer.produce(
            topic, value, key, headers=list(headers), on_delivery=lambda error, _: self._report(delivered, error)
        )
        await delivered

    async def close(self) -> None:
        """Closes the producer, after a moment for unconfirmed messages to arrive. Attempts must have ended before."""
        self._closing = True
        await asyncio.to_thread(self._thread.join)
        await asyncio.to_thread(self._producer.flush, _LAST_SECONDS)

    def _poll(self) -> None:
        while not self._closing:
            self._producer.poll(_POLL_SECONDS)

    def _report(self, delivered: asyncio.Future[None], error: Any) -> None:
        """Called in the thread. Many reports come at once, and wake the loop once."""
        self._reports.append((delivered, error))
        if len(self._reports) == 1:
            self._loop.call_soon_threadsafe(self._hear)

    def _hear(self) -> None:
        while self._reports:
            delivered, error = self._reports[0]
            if delivered.done():
                pass  # its attempt was cancelled
            elif error is None:
                delivered.set_result(None)
            else:
                delivered.set_exception(self._failure(error))
            self._reports.popleft()
