"""The credentials of callbacks: secrets in headers, tokens that are fetched with secrets, and certificates."""

import asyncio
import hashlib
import re
import ssl
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from weakref import WeakValueDictionary

from pgsched.delivery.exception_outcomes import FinalFailure
from pgsched.delivery.exchange import DeliveryFailed, Exchange
from pgsched.delivery.redaction import redacted
from pgsched.delivery.tls import certified_context
from pgsched.delivery.tokens import Send, TargetTokens
from pgsched.delivery.url import Url
from pgsched.domain.execution_options import ClientCertificate, Options
from pgsched.domain.secret import SecretRef
from pgsched.errors import InvalidSettings

_MOST_TOGETHER = 16_384
"""Maximum total length of the secrets in one request, in characters. Servers refuse longer headers, and the response
must be searched for every secret."""
_BRIEF, _BRIEF_ANSWER = 512, 4_096
_MOST_OF_A_CLIENT, _MOST = 8, 256  # certificates cached per client, and in total
_IN_A_HEADER = re.compile(r"[!-~](?:[ \t!-~]{0,8191}[!-~])?")

GetSecret = Callable[[str, str, str], Awaitable[str]]
"""Returns the value of a secret, given client, name and host. Raises DeliveryFailed if there is none for the host."""


async def no_secrets(client: str, name: str, host: str) -> str:
    """A ``GetSecret`` for processes without a store of secrets."""
    raise DeliveryFailed(f"there is no secret {name}")


@dataclass(frozen=True, slots=True)
class Filled:
    """A callback's options and URL with credentials filled in: secrets and a token in the headers of ``options``, and a
    certificate in ``url``. ``secrets`` are the texts to redact."""

    options: Options = field(repr=False)
    url: Url
    secrets: tuple[str, ...] = field(repr=False)

    async def redact(self, answer: Exchange) -> Exchange:
        """Redacts from the response any secrets that were sent in the request. Large searches run in a thread, because
        they take time and hundreds of responses may arrive together."""
        if answer.status < 300 and not answer.body:  # a success's reason is not kept
            return answer
        is_brief = len(self.secrets) < 2 and sum(map(len, self.secrets)) <= _BRIEF
        if is_brief and len(answer.body) + len(answer.reason) + len(answer.address) <= _BRIEF_ANSWER:
            return self._redact(answer)
        return await asyncio.to_thread(self._redact, answer)

    def _redact(self, answer: Exchange) -> Exchange:
        answer.body = redacted(self.secrets, answer.body)
        if answer.status >= 300:
            answer.reason = redacted(self.secrets, answer.reason)
            answer.address = redacted(self.secrets, answer.address)
        return answer


class Credentials:
    """Fills in the credentials of callbacks. ``send`` sends requests for tokens. ``now`` returns the database's time in
    seconds since 1970. ``authorities`` is the setting ``tls_authorities``."""

    def __init__(
        self, get_secret: GetSecret, send: Send, now: Callable[[], int], authorities: str | None = None
    ) -> None:
        self._get_secret, self._tokens = get_secret, TargetTokens(get_secret, send, now)
        self._certificates = Certificates(get_secret, authorities)

    async def fill(self, options: Options, client: str, host: str, url: Url, deadline: float) -> Filled:
        """Fills in the credentials of one callback to ``host``. Raises DeliveryFailed if a secret is not available
        within ``deadline`` seconds, and FinalFailure if a secret cannot be sent in a header. The messages do not
        contain the secret."""
        headers, secrets = list[tuple[str, str | SecretRef]](), list[str]()
        try:
            async with asyncio.timeout(deadline):
                for name, given in options.headers:
                    text = given if isinstance(given, str) else await self._text(name, given, client, host)
                    headers.append((name, text))
                    if isinstance(given, SecretRef):
                        secrets.append(text.removeprefix(given.prefix))
                if options.auth is not None:
                    token = await self._tokens.get(options.auth, client, host, url)
                    headers.append(("Authorization", f"Bearer {token}"))
                    secrets.append(token)
                if options.tls is not None and url.origin.tls:
                    context = await self._certificates.context(options.tls, client, host)
                    url = url._replace(origin=url.origin._replace(context=context))
        except TimeoutError:
            raise DeliveryFailed(
                f"the secrets and tokens of the call were not available within {deadline:g} s"
            ) from None
        if (shown := sum(map(len, secrets))) > _MOST_TOGETHER:
            raise FinalFailure(
                f"the secrets in the headers have {shown} characters in total; at most {_MOST_TOGETHER} are allowed"
            )
        return Filled(replace(options, headers=tuple(headers)), url, tuple(secrets))

    def close(self) -> None:
        self._certificates.close()

    def refused(self, options: Options, client: str) -> bool:
        """Forgets a token that a target has refused. Returns whether it may have been revoked before it expired."""
        return options.auth is not None and self._tokens.forget(options.auth, client)

    async def _text(self, header: str, given: SecretRef, client: str, host: str) -> str:
        text = given.prefix + (await self._get_secret(client, given.name, host)).strip()
        if not _IN_A_HEADER.fullmatch(text):
            raise FinalFailure(
                f"the secret {given.name} cannot be used in the header {header}: "
                "a header value must be 1 to 8192 printable ASCII characters"
            )
        return text


class Certificates:
    """The TLS contexts for clients' certificates. A context is created from the client's secrets when first needed, and
    then cached. ``authorities`` is the setting ``tls_authorities``.

    Each certificate has its own context, and connections are kept apart by context. So a call never uses a connection
    that was opened with another certificate or with none.

    A context takes tens of milliseconds and a megabyte, so contexts are created in a thread, one at a time, and only a
    few per client are cached.
    """

    def __init__(self, get_secret: GetSecret, authorities: str | None = None) -> None:
        self._get_secret, self._authorities = get_secret, authorities
        self._made: dict[str, dict[bytes, ssl.SSLContext]] = {}
        self._locks = WeakValueDictionary[str, asyncio.Lock]()
        self._thread = ThreadPoolExecutor(1, "pgsched-certificates")

    async def context(self, given: ClientCertificate, client: str, host: str) -> ssl.SSLContext:
        """Returns the context with which a client presents this certificate to a host. Raises DeliveryFailed if the
        certificate cannot be used. The message contains no part of the certificate."""
        texts = [await self._get_secret(client, name, host) for name in given.names]
        digest = hashlib.sha256("\0".join(texts).encode()).digest()
        lock = self._locks.get(client)
        if lock is None:
            lock = self._locks[client] = asyncio.Lock()
        async with lock:
            return self._found(client, digest) or self._keep(client, digest, await self._make(given, client, texts))

    def close(self) -> None:
        self._thread.shutdown(wait=False, cancel_futures=True)

    async def _make(self, given: ClientCertificate, client: str, texts: list[str]) -> ssl.SSLContext:
        try:
            return await asyncio.get_running_loop().run_in_executor(
                self._thread, certified_context, texts[0], texts[1] if texts[1:] else None, self._authorities
            )
        except InvalidSettings as error:
            named = " and ".join(given.names)
            raise DeliveryFailed(
                f"the secret {named} of the client {client} is not a usable certificate: {error}"
            ) from None

    def _found(self, client: str, digest: bytes) -> ssl.SSLContext | None:
        """Looks up a context, and moves it to the end as the most recently used context."""
        own = self._made.get(client, {})
        context = own.pop(digest, None)
        if context is not None:
            own[digest] = context
        return context

    def _keep(self, client: str, digest: bytes, context: ssl.SSLContext) -> ssl.SSLContext:
        own = self._made.setdefault(client, {})
        own[digest] = context
        if len(own) > _MOST_OF_A_CLIENT:
            del own[next(iter(own))]
        if sum(map(len, self._made.values())) > _MOST:
            whose = max(self._made, key=lambda name: len(self._made[name]))
            most = self._made[whose]
            del most[next(iter(most))]
            if not most:
                del self._made[whose]
        return context
