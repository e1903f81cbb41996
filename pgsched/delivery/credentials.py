"""What a callback shows to its target: secrets in its headers, tokens that are fetched with secrets, certificates."""

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
"""Characters of all that one request shows in secret, which is more than servers read, and each of which has to be
searched for in what they answer."""
_BRIEF, _BRIEF_ANSWER = 512, 4_096
_MOST_OF_A_CLIENT, _MOST = 8, 256  # certificates
_IN_A_HEADER = re.compile(r"[!-~](?:[ \t!-~]{0,8191}[!-~])?")

GetSecret = Callable[[str, str, str], Awaitable[str]]
"""The value of a client's secret of this name, for a host that it goes to; raises DeliveryFailed."""


async def no_secrets(client: str, name: str, host: str) -> str:
    """Where nobody keeps any."""
    raise DeliveryFailed(f"there is no secret {name}")


@dataclass(frozen=True, slots=True)
class Filled:
    """The options with the client's own secrets, and its token, in their headers; the URL with its certificate; and
    what of that nobody is to see."""

    options: Options = field(repr=False)
    url: Url
    secrets: tuple[str, ...] = field(repr=False)

    async def redact(self, answer: Exchange) -> Exchange:
        """The answer without what the target was told in secret. To search for much takes a while, and hundreds may
        answer together, so that is done beside the loop."""
        if answer.status < 300 and not answer.body:  # of a success nobody keeps the reason
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
    """``send`` sends the requests for tokens; ``now`` is the database's time in seconds since 1970; ``authorities``
    are as in the setting ``tls_authorities``."""

    def __init__(
        self, get_secret: GetSecret, send: Send, now: Callable[[], int], authorities: str | None = None
    ) -> None:
        self._get_secret, self._tokens = get_secret, TargetTokens(get_secret, send, now)
        self._certificates = Certificates(get_secret, authorities)

    async def fill(self, options: Options, client: str, host: str, url: Url, deadline: float) -> Filled:
        """For the host of the target. Raises DeliveryFailed where a secret cannot be had within ``deadline`` seconds,
        and FinalFailure for what no header can have; neither says what is in it."""
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
            raise DeliveryFailed(f"its secrets and tokens could not be had within {deadline:g} s") from None
        if (shown := sum(map(len, secrets))) > _MOST_TOGETHER:
            raise FinalFailure(
                f"the secrets in its headers have {shown} characters together: that is at most {_MOST_TOGETHER}"
            )
        return Filled(replace(options, headers=tuple(headers)), url, tuple(secrets))

    def close(self) -> None:
        """Makes no more certificates."""
        self._certificates.close()

    def refused(self, options: Options, client: str) -> bool:
        """Forgets the token that a target has refused; whether there was one that may have been withdrawn early."""
        return options.auth is not None and self._tokens.forget(options.auth, client)

    async def _text(self, header: str, given: SecretRef, client: str, host: str) -> str:
        text = given.prefix + (await self._get_secret(client, given.name, host)).strip()
        if not _IN_A_HEADER.fullmatch(text):
            raise FinalFailure(
                f"the secret {given.name} cannot be in the header {header}: "
                "that is at most 8192 printable ASCII characters"
            )
        return text


class Certificates:
    """The certificates of clients: made of their secrets when a call is made, and remembered for the next ones.
    ``authorities`` are as in the setting ``tls_authorities``.

    Each has a TLS context of its own, which belongs to the origin of the connections that are opened with it: so no
    call goes out on a connection that was opened with another certificate, or with none, and one that was replaced is
    not shown again.

    To make one takes tens of milliseconds and a megabyte, most of it for the authorities that it trusts. So they are
    made in a thread, one at a time, and for each client one after the other; and no client has more of them in memory
    than a few.
    """

    def __init__(self, get_secret: GetSecret, authorities: str | None = None) -> None:
        self._get_secret, self._authorities = get_secret, authorities
        self._made: dict[str, dict[bytes, ssl.SSLContext]] = {}
        self._locks = WeakValueDictionary[str, asyncio.Lock]()
        self._thread = ThreadPoolExecutor(1, "pgsched-certificates")

    async def context(self, given: ClientCertificate, client: str, host: str) -> ssl.SSLContext:
        """The context in which the client shows it to a host. Raises DeliveryFailed, which tells nothing of it."""
        texts = [await self._get_secret(client, name, host) for name in given.names]
        digest = hashlib.sha256("\0".join(texts).encode()).digest()
        lock = self._locks.get(client)
        if lock is None:
            lock = self._locks[client] = asyncio.Lock()
        async with lock:
            return self._found(client, digest) or self._keep(client, digest, await self._make(given, client, texts))

    def close(self) -> None:
        """Makes no more."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    async def _make(self, given: ClientCertificate, client: str, texts: list[str]) -> ssl.SSLContext:
        try:
            return await asyncio.get_running_loop().run_in_executor(
                self._thread, certified_context, texts[0], texts[1] if texts[1:] else None, self._authorities
            )
        except InvalidSettings as error:
            named = " and ".join(given.names)
            raise DeliveryFailed(f"the secret {named} of the client {client} is no certificate: {error}") from None

    def _found(self, client: str, digest: bytes) -> ssl.SSLContext | None:
        """It is the one used last from now on."""
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
