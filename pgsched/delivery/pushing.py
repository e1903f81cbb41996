"""The channels that hold nothing open until a target needs them: functions, notifications, Kafka."""

import json
from collections.abc import Callable

from pgsched.delivery.channel import Channel
from pgsched.delivery.kafka import KafkaChannel
from pgsched.delivery.notify import NotifyChannel
from pgsched.delivery.sql import SqlChannel
from pgsched.domain.capability import KAFKA, SQL
from pgsched.domain.target import Scheme
from pgsched.settings import Settings
from pgsched.store.core.sessions import Sessions

_CALLING, _NOTIFYING = 10, 4


def capabilities(settings: Settings) -> frozenset[str]:
    """The capabilities that a worker has by these settings."""
    found = {KAFKA} if KafkaChannel(settings.kafka_brokers, json.loads(settings.kafka_config)).can_send else set()
    return frozenset(found | ({SQL} if settings.sql_role else set()))


def pushing_channels(
    settings: Settings, url: str, *, role_of: Callable[[str], str | None], is_shared: Callable[[], bool]
) -> dict[str, Channel]:
    """A channel for each of their schemes. ``role_of`` is the role of a client, where it has one of its own;
    ``is_shared`` says whether there are several clients.

    Raises InvalidSettings for an invalid ``sql_login``.
    """
    calling = Sessions(url, settings.sql_login, most=_CALLING)
    return {
        Scheme.SQL: SqlChannel(
            calling, role_of=lambda client: role_of(client) or settings.sql_role, is_shared=is_shared
        ),
        Scheme.NOTIFY: NotifyChannel(Sessions(url, "", most=_NOTIFYING), is_shared=is_shared),
        Scheme.KAFKA: KafkaChannel(settings.kafka_brokers, json.loads(settings.kafka_config)),
    }
