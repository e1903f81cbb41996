"""All channels of a worker, put together."""

import ssl
from collections.abc import Callable, Mapping, Sequence
from typing import TypedDict

from pgsched.delivery.accounts import Accounts
from pgsched.delivery.channel import CompletingConnections
from pgsched.delivery.failures import Failures
from pgsched.delivery.http import HttpChannel
from pgsched.delivery.proxy import Proxy, parse_proxy
from pgsched.delivery.pushing import pushing_channels
from pgsched.delivery.python import App, PythonChannel
from pgsched.delivery.router import Channels
from pgsched.delivery.threads import Threads
from pgsched.delivery.tls import certificate_contexts, trusting_context
from pgsched.settings import Settings
from pgsched.worker.clock import DatabaseClock
from pgsched.worker.gates.circuits import Circuits, Sparing


class WaysOut(TypedDict):
    """Whom callbacks trust, as whom they introduce themselves, and by which way they go."""

    tls: ssl.SSLContext | None
    certificates: Mapping[str, ssl.SSLContext]
    proxy: Proxy | None


def ways_out(settings: Settings) -> WaysOut:
    """What the settings say of it. Raises InvalidSettings for a file or an address that cannot be used."""
    authorities = settings.tls_authorities
    return {
        "tls": trusting_context(authorities) if authorities else None,
        "certificates": certificate_contexts(settings.tls_certificates, authorities),
        "proxy": parse_proxy(settings.proxy) if settings.proxy else None,
    }


def make_channels(
    settings: Settings,
    url: str,
    app: App,
    *,
    secrets: Callable[[str], Sequence[bytes]],
    role_of: Callable[[str], str | None],
    clock: DatabaseClock,
    circuits: Circuits,
    completion: CompletingConnections,
    threads: Threads,
    failures: Failures,
    accounts: Accounts,
    is_shared: Callable[[], bool],
) -> Channels:
    """``secrets`` and ``role_of`` are what is known of a client, ``is_shared`` says whether there are several. Raises
    InvalidSettings for a ``sql_login`` that cannot be meant, and for certificates that cannot be read."""
    http = HttpChannel(
        connections_per_host=settings.connections_per_host,
        concurrency=settings.concurrency,
        allow_private=settings.allow_private_targets,
        secrets=secrets,
        now=clock.epoch_seconds,
        is_shared=is_shared,
        **ways_out(settings),
    )
    python = PythonChannel(app, completion=completion, threads=threads, failures=failures, accounts=accounts)
    others = pushing_channels(settings, url, role_of=role_of, is_shared=is_shared)
    return Channels(http=Sparing(http, circuits), python=python, others=others)
