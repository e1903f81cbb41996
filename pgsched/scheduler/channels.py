"""Creates all channels of a worker."""

import json
import ssl
from collections.abc import Mapping
from typing import TYPE_CHECKING, TypedDict

from pgsched.delivery.channel import Channels
from pgsched.delivery.http import HttpChannel
from pgsched.delivery.isolated_handlers import Isolation
from pgsched.delivery.kafka import KafkaChannel
from pgsched.delivery.notify import NotifyChannel
from pgsched.delivery.proxy import Proxy, parse_proxy
from pgsched.delivery.python import PythonChannel
from pgsched.delivery.sql import SqlChannel
from pgsched.delivery.tls import certificate_contexts, trusting_context
from pgsched.domain.capability import KAFKA, SQL
from pgsched.domain.target import Scheme
from pgsched.settings import Settings
from pgsched.store.core.client_role_sessions import Sessions

if TYPE_CHECKING:
    from pgsched.scheduler.assembly import Assembly

_CALLING, _NOTIFYING = 10, 4


class WaysOut(TypedDict):
    """The certificate authorities, client certificates and proxy for callbacks."""

    tls: ssl.SSLContext | None
    certificates: Mapping[str, ssl.SSLContext]
    proxy: Proxy | None


def ways_out(settings: Settings) -> WaysOut:
    """Reads authorities, certificates and proxy from the settings. Raises InvalidSettings if any cannot be used."""
    authorities = settings.tls_authorities
    return {
        "tls": trusting_context(authorities) if authorities else None,
        "certificates": certificate_contexts(settings.tls_certificates, authorities),
        "proxy": parse_proxy(settings.proxy) if settings.proxy else None,
    }


def make_channels(parts: "Assembly") -> Channels:
    """Creates the channels. Raises InvalidSettings if ``sql_login`` is invalid or certificates cannot be read."""
    settings, known, url = parts.settings, parts.known_settings, parts.url
    calling = Sessions(url, settings.sql_login, most=_CALLING)
    sql = SqlChannel(
        calling,
        role_of=lambda client: known.database_role(client) or settings.sql_role,
        is_shared=known.are_several,
    )
    notifying = Sessions(url, "", most=_NOTIFYING, trusted=True)
    notify = NotifyChannel(notifying, is_shared=known.are_several, is_of_others=known.is_of_others)
    kafka = KafkaChannel(settings.kafka_brokers, json.loads(settings.kafka_config))
    found = {KAFKA: kafka.can_send, SQL: bool(settings.sql_role)}
    start = parts.containment.start_child
    python = PythonChannel(
        parts.app,
        completion=parts.completion,
        threads=parts.threads,
        failures=parts.failures,
        tracebacks=settings.kept_traceback,
        reports=parts.reports,
        isolation=Isolation(start, parts.events, is_shared=known.are_several) if start else None,
    )
    return Channels(
        http=_http(parts),
        python=python,
        others={Scheme.SQL: sql, Scheme.NOTIFY: notify, Scheme.KAFKA: kafka},
        allowed=known.channels,
        capabilities=frozenset(capability for capability, is_there in found.items() if is_there),
    )


def _http(parts: "Assembly") -> HttpChannel:
    settings = parts.settings
    return HttpChannel(
        connections_per_host=settings.connections_per_host,
        concurrency=settings.concurrency,
        allow_private=settings.allow_private_targets,
        secrets=parts.known_settings.signing_secrets,
        now=parts.clock.epoch_seconds,
        is_shared=parts.known_settings.are_several,
        leaves_alone=parts.circuits.leaves_alone,
        get_secret=parts.vault.secret,
        authorities=settings.tls_authorities,
        **ways_out(settings),
    )
