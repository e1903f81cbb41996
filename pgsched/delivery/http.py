"""HTTP callbacks, over one pool of kept-alive connections per process.

The head of a response decides: with a status of 2xx, the callback has succeeded, whatever happens to the body.
Redirects are not followed, and responses are not cached. An attempt sends its request again, on a fresh connection, if
the first connection turns out to have been closed. An execution with only one attempt (``max_attempts: 1``) always uses
a fresh connection.
"""

import random
import ssl
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from functools import lru_cache

import orjson

from pgsched.delivery.credentials import Credentials, GetSecret, no_secrets
from pgsched.delivery.egress import Egress
from pgsched.delivery.error_body import in_plain_text, leads_to
from pgsched.delivery.exception_outcomes import outcome_of
from pgsched.delivery.exchange import DeliveryFailed, Exchange
from pgsched.delivery.opener import Opener
from pgsched.delivery.pool import OriginSlots, Pool
from pgsched.delivery.proxy import WANTS_CREDENTIALS, Proxy, Tunneller
from pgsched.delivery.request import compose
from pgsched.delivery.slots import NoFreeSlot, alone
from pgsched.delivery.tls import certificate_for
from pgsched.delivery.tokens import LONGEST_ANSWER
from pgsched.delivery.url import Url, parse_url
from pgsched.domain.attempt_outcome import LONGEST_ERROR, Deferred, Failed, Outcome, Released, Succeeded
from pgsched.domain.execution import ClaimedExecution
from pgsched.domain.execution_options import Options
from pgsched.domain.gate import host_of
from pgsched.version import __version__

LONGEST_KEPT = 16_384
"""Maximum number of bytes kept of a successful response's body, if the execution asks for the body."""
_LONGEST_REASON = 200
_LONGEST_DATE = 100
_ACCEPTED, _UNAUTHORIZED = 202, 401
_RETRYABLE = frozenset({408, 425, 429})


class HttpChannel:
    """Calls http: and https: targets.

    ``connections_per_host`` limits the connections to one scheme, host and port. ``concurrency`` limits all
    connections, if the caller makes no more attempts at once. ``secrets`` returns the keys that sign a client's
    callbacks; without keys they are not signed. ``now`` returns the database's time in seconds since 1970.

    ``tls`` replaces the default TLS context, for private authorities. ``certificates`` maps each host (or
    ``client@host``) that requires a certificate to its TLS context. Every callback goes through the ``proxy``, if there
    is one. ``is_shared`` returns whether there are several clients. ``get_secret`` returns the secrets for headers and
    clients' certificates. ``authorities`` is a file of the authorities that are trusted on connections with clients'
    certificates. If ``leaves_alone`` returns True for an execution, the execution is handed back without a call.
    """

    def __init__(
        self,
        *,
        connections_per_host: int,
        concurrency: int,
        allow_private: bool,
        secrets: Callable[[str], Sequence[bytes]],
        now: Callable[[], int],
        tls: ssl.SSLContext | None = None,
        certificates: Mapping[str, ssl.SSLContext] | None = None,
        proxy: Proxy | None = None,
        rng: random.Random | None = None,
        is_shared: Callable[[], bool] = alone,
        leaves_alone: Callable[[ClaimedExecution], bool] = lambda execution: False,
        get_secret: GetSecret = no_secrets,
        authorities: str | None = None,
    ) -> None:
        egress = Egress(allow_private=allow_private)
        opener = Tunneller(egress, proxy, tls=tls) if proxy else Opener(egress, tls=tls, is_shared=is_shared)
        self._pool = Pool(opener, per_host=connections_per_host, connections=concurrency, is_shared=is_shared)
        self._certificates, self._proxy = certificates or {}, proxy
        self._secrets, self._now = secrets, now
        self._rng = rng or random.Random()
        self._leaves_alone = leaves_alone
        self._credentials = Credentials(get_secret, self._post_form, now, authorities)

    async def deliver(self, execution: ClaimedExecution, options: Options, deadline: float) -> Outcome:
        """Sends one request. The outcome is a retryable failure if the head of the response does not arrive within
        ``deadline`` seconds. Raises NoFreeSlot if all connections to the host are in use or reserved for other clients.
        """
        if self._leaves_alone(execution):
            return Released()
        try:
            url = parse_url(execution.target)
            if not options.has_secrets:
                answer = await self._call(execution, url, options, deadline)
            else:
                answer = await self._call_with_secrets(execution, url, options, deadline)
        except NoFreeSlot:
            raise
        except Exception as error:
            return outcome_of(error)
        return self._outcome(answer, options)

    async def _call(self, execution: ClaimedExecution, url: Url, options: Options, deadline: float) -> Exchange:
        host, asked, hop = self._route(url, execution.client_id)
        request = compose(
            execution,
            asked,
            options,
            now=self._now(),
            deadline=deadline,
            secrets=self._secrets(execution.client_id),
            rng=self._rng,
            hop=hop,
        )
        answer = await self._pool.exchange(
            host,
            request,
            bodiless=options.method == "HEAD",
            once=options.max_attempts == 1,
            deadline=deadline,
            client=execution.client_id,
            keeps=LONGEST_KEPT if options.keep_answer else 0,
        )
        return in_plain_text(answer)

    async def _call_with_secrets(
        self, execution: ClaimedExecution, url: Url, options: Options, deadline: float
    ) -> Exchange:
        """Makes a call like ``_call``, but fills secrets into the request and redacts them from the response. If the
        target rejects a token, which may have been revoked early, the request is sent once more with a new token. That
        is safe, because the target has done nothing."""
        client, ends = execution.client_id, time.monotonic() + deadline
        host = host_of(execution.target) or ""
        filled = await self._credentials.fill(options, client, host, url, deadline)
        answer = await self._call(execution, filled.url, filled.options, max(ends - time.monotonic(), 0.0))
        is_refused = answer.status == _UNAUTHORIZED and options.max_attempts > 1
        if not (is_refused and self._credentials.refused(options, client)):
            return await filled.redact(answer)
        filled = await self._credentials.fill(options, client, host, url, max(ends - time.monotonic(), 0.0))
        answer = await self._call(execution, filled.url, filled.options, max(ends - time.monotonic(), 0.0))
        return await filled.redact(answer)

    async def _post_form(self, url: Url, lines: str, form: str, client: str, deadline: float) -> Exchange:
        host, asked, hop = self._route(url, client)
        request = (
            f"POST {asked.path} HTTP/1.1\r\nHost: {asked.authority}\r\n"
            f"{hop}{lines}User-Agent: pgsched/{__version__}\r\n"
            f"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {len(form)}\r\n\r\n{form}"
        ).encode("ascii")
        return await self._pool.exchange(
            host, request, bodiless=False, once=False, deadline=deadline, client=client, keeps=LONGEST_ANSWER
        )

    async def close(self) -> None:
        self._credentials.close()
        await self._pool.close()

    def _route(self, url: Url, client: str) -> tuple[OriginSlots, Url, str]:
        """Returns an origin with a free slot, the URL to request, and the header line for the proxy. Raises NoFreeSlot
        if the origin has no free slot. An execution's own certificate takes precedence over the certificate in the
        settings."""
        origin = url.origin
        if self._certificates and origin.tls and origin.context is None:
            origin = origin._replace(context=certificate_for(origin.host, client, self._certificates))
        host = self._pool.origin_with_slot(origin, client)
        return (host, self._proxy.asked_for(url), self._proxy.hop(url)) if self._proxy else (host, url, "")

    def _outcome(self, answer: Exchange, options: Options) -> Outcome:
        if answer.status == WANTS_CREDENTIALS and self._proxy is not None:
            return outcome_of(DeliveryFailed("the proxy requires credentials; give them in the setting proxy"))
        retry_after = answer.retry_after
        return outcome_of_answer(
            answer.status,
            options,
            reason=answer.reason,
            body=answer.body,
            is_whole=answer.complete,
            retry_after=parse_retry_after(retry_after.decode("latin-1"), self._now()) if retry_after else None,
            address=answer.address,
        )


def outcome_of_answer(
    status: int,
    options: Options,
    *,
    reason: bytes = b"",
    body: bytes = b"",
    is_whole: bool = True,
    retry_after: timedelta | None = None,
    address: bytes = b"",
) -> Outcome:
    """Returns the outcome of a response. 2xx is a success, and its body, if kept, becomes the result. With
    ``deferred``, 202 means that the target will complete the execution later. 408, 425, 429 and 5xx are retryable
    failures; any other status is a final failure. The options ``retry_on`` and ``fail_on`` override this, except for
    2xx."""
    if status == _ACCEPTED and options.deferred is not None:
        return Deferred()
    if 200 <= status < 300:
        return Succeeded(status_code=status, result=_kept(body, is_whole=is_whole)) if body else _succeeded(status)
    return Failed(
        error=_error(status, reason, body, address),
        retryable=_is_retryable(status, options),
        status_code=status,
        retry_after=retry_after,
    )


def parse_retry_after(text: str | None, now: int) -> timedelta | None:
    """Returns the delay that a Retry-After header requests, or None if the header is missing or invalid. Never raises,
    because an invalid header must not change the outcome. ``now`` is in seconds since 1970. A date in the past means no
    delay."""
    if text is None:
        return None
    text = text.strip()
    if text.isascii() and text.isdigit():
        return timedelta(seconds=min(int(text.lstrip("0")[:10] or "0"), 10**9))
    if len(text) > _LONGEST_DATE:
        return None
    try:
        moment = parsedate_to_datetime(text)
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        return max(moment - datetime.fromtimestamp(now, UTC), timedelta(0))
    except (ValueError, OverflowError, TypeError, IndexError):  # impossible dates
        return None


@lru_cache(maxsize=100)
def _succeeded(status: int) -> Succeeded:
    """Returns a success without a body. Memoised, because nearly all successes are equal."""
    return Succeeded(status_code=status)


def _kept(body: bytes, *, is_whole: bool) -> bytes:
    """Returns the body of a success as a result. JSON is kept unchanged. Any other body becomes a string, and so does
    the beginning of a body that is too long or incomplete."""
    if is_whole and len(body) <= LONGEST_KEPT:
        with suppress(orjson.JSONDecodeError):
            orjson.loads(body)
            return body
    return orjson.dumps(body[:LONGEST_KEPT].decode("utf-8", "replace"))


def _is_retryable(status: int, options: Options) -> bool:
    if status in options.fail_on:
        return False
    return status in options.retry_on or status in _RETRYABLE or status >= 500


def _error(status: int, reason: bytes, body: bytes, address: bytes) -> str:
    said = f"answered {status} {reason[:_LONGEST_REASON].decode('utf-8', 'replace')}".rstrip()
    if 300 <= status < 400:
        said += f" ({leads_to(address)})"
    # A character takes at most four bytes.
    text = body[: 4 * LONGEST_ERROR].decode("utf-8", "replace").strip()[:LONGEST_ERROR]
    return f"{said}: {text}" if text else said
