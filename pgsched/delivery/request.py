"""Composes the bytes of a callback: the scheduled request, and headers that describe the attempt.

No input can inject a line break: targets, methods, scheduled headers and media types are checked again here, and
pgsched itself produces everything else.
"""

import random
from collections.abc import Sequence
from functools import lru_cache
from typing import cast
from urllib.parse import quote

from pgsched.delivery.exception_outcomes import FinalFailure
from pgsched.delivery.signature import sign_by_each
from pgsched.delivery.url import Url
from pgsched.domain.body import Body
from pgsched.domain.cloudevent import CloudEvent
from pgsched.domain.execution import ClaimedExecution, instant_text, uuid_text
from pgsched.domain.execution_options import METHODS, Options
from pgsched.domain.headers import check_header
from pgsched.domain.trace import own_traceparent, traceparent_in
from pgsched.errors import InvalidOptions, InvalidPayload
from pgsched.store.core.wire import UNIX_TO_WIRE
from pgsched.version import __version__

Lines = tuple[tuple[str, str], ...]
_LONGEST_REMEMBERED = 2_048  # header lines with more characters than this are not cached
_AS_THEY_ARE = "/:@!$&'()*+,;=~"  # RFC 3986 allows these in a path, in addition to letters, digits, - . and _
_IN_EVENTS = _AS_THEY_ARE + "#?"
_JSON = "application/json"
_WITHOUT_BODY = frozenset({"GET", "HEAD"})
# With these methods, a signed callback has a body: Standard Webhooks libraries cannot parse an empty body.
_SIGNED_WITH_BODY = frozenset({"POST", "PUT", "PATCH"})


def compose(
    execution: ClaimedExecution,
    url: Url,
    options: Options,
    *,
    now: int,
    deadline: float,
    secrets: Sequence[bytes],
    rng: random.Random,
    hop: str = "",
) -> bytes:
    """Returns the complete request for one attempt. ``now`` is the database's time in seconds since 1970, and
    ``deadline`` is in seconds from ``now``. ``hop`` is a header line for a proxy.

    Raises FinalFailure for a method, header or body that cannot be sent.
    """
    method = options.method
    body = _body(method, execution.payload, options, signed=bool(secrets))
    kind = None if body is None else _JSON if options.body is None else options.body.type
    id = uuid_text(execution.id)
    signature = f"webhook-signature: {sign_by_each(secrets, id, now, body or b'')}\r\n" if secrets else ""
    event = "" if options.cloudevent is None else _event_lines(options.cloudevent, execution)
    completion = "" if options.deferred is None else f"pgsched-completion-token: {execution.token}\r\n"
    length = "" if method in _WITHOUT_BODY else f"Content-Length: {len(body or b'')}\r\n"
    head = (
        f"{method} {url.path} HTTP/1.1\r\n"
        f"Host: {url.authority}\r\n{hop}"
        f"{_constant_lines(method, options, kind)}"
        f"Idempotency-Key: {id}\r\n"
        f"webhook-id: {id}\r\n"
        f"webhook-timestamp: {now}\r\n"
        f"{signature}"
        f"{_client_line(execution.client_id)}{_names(execution)}{event}"
        f"pgsched-attempt: {execution.attempt}\r\npgsched-delivery-count: {execution.delivery_count}\r\n"
        f"pgsched-scheduled-for: {instant_text(execution.scheduled_for)}\r\n"
        f"pgsched-deadline: {instant_text((now + int(deadline)) * 1_000_000 - UNIX_TO_WIRE)}\r\n"
        f"{completion}"
        f"traceparent: {traceparent_in(options.traceparent) or own_traceparent(execution.id, rng)}\r\n"
        f"{length}\r\n"
    ).encode("ascii")
    return head if body is None else head + body


def _event_lines(event: CloudEvent, execution: ClaimedExecution) -> str:
    """Returns the header lines for an event's attributes, encoded according to the HTTP binding of CloudEvents."""
    return "".join(f"ce-{name}: {quote(text, _IN_EVENTS)}\r\n" for name, text in event.attributes(execution))


def _names(execution: ClaimedExecution) -> str:
    """Returns the header lines for the execution's key and job, if it has them."""
    key = "" if execution.key is None else f"pgsched-key: {quote(execution.key, _AS_THEY_ARE)}\r\n"
    return key if execution.job_id is None else f"{key}pgsched-job: {uuid_text(execution.job_id)}\r\n"


@lru_cache(maxsize=4096)
def _client_line(client: str) -> str:
    return f"pgsched-client: {quote(client, _AS_THEY_ARE)}\r\n"


def _body(method: str, payload: bytes | None, options: Options, *, signed: bool) -> bytes | None:
    if method in _WITHOUT_BODY:
        return None
    if options.body is not None:
        return None if payload is None else _made(options.body, payload)
    return b"{}" if payload is None and signed and method in _SIGNED_WITH_BODY else payload


def _made(body: Body, payload: bytes) -> bytes:
    try:
        return body.of(payload)
    except InvalidPayload as error:  # the database refuses such a payload, but copied rows may have one
        raise FinalFailure(str(error)) from None


def _constant_lines(method: str, options: Options, kind: str | None) -> str:
    scheduled = cast(Lines, options.headers)  # HttpChannel has filled in the secrets
    if scheduled and (options.has_secrets or sum(len(value) for _, value in scheduled) > _LONGEST_REMEMBERED):
        return _constant.__wrapped__(method, scheduled, kind)
    return _constant(method, scheduled, kind)


@lru_cache(maxsize=4096)
def _constant(method: str, scheduled: Lines, kind: str | None) -> str:
    if method not in METHODS:
        raise FinalFailure(f"the method {method[:20]!r} is not one of {', '.join(METHODS)}")
    lines = [_checked(name, value) for name, value in scheduled]
    if kind is not None:
        if not kind.isascii() or not kind.isprintable():
            raise FinalFailure(f"the media type {kind[:100]!r} cannot be written in a header")
        lines.append(f"Content-Type: {kind}\r\n")
    if method == "HEAD":
        # If the server nevertheless sends a body, the body must not be mistaken for the next response.
        lines.append("Connection: close\r\n")
    # Responses are stored as text, and a compressed response would have to be decompressed first.
    lines.append(f"Accept-Encoding: identity\r\nUser-Agent: pgsched/{__version__}\r\n")
    return "".join(lines)


def _checked(name: str, value: str) -> str:
    try:
        check_header("headers", name, value)
    except InvalidOptions as error:
        raise FinalFailure(str(error)) from None
    return f"{name}: {value}\r\n"
