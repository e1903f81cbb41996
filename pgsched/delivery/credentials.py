"""What a callback shows to its target: secrets in its headers, tokens that are fetched with secrets, certificates."""

import asyncio
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace

from pgsched.delivery.certificates import Certificates
from pgsched.delivery.channel import FinalFailure
from pgsched.delivery.exchange import DeliveryFailed, Exchange
from pgsched.delivery.hiding import without
from pgsched.delivery.tokens import Send, Tokens
from pgsched.delivery.url import Url
from pgsched.domain.policy import Options
from pgsched.domain.secret import SecretRef

_IN_A_HEADER = re.compile(r"[!-~](?:[ \t!-~]{0,8191}[!-~])?")

GetSecret = Callable[[str, str], Awaitable[str]]
"""The value of a client's secret of this name; raises DeliveryFailed."""


async def no_secrets(client: str, name: str) -> str:
    """Where nobody keeps any."""
    raise DeliveryFailed(f"there is no secret {name}")


@dataclass(frozen=True, slots=True)
class Filled:
    """The options with the client's own secrets, and its token, in their headers; the URL with its certificate; and
    what of that nobody is to see."""

    options: Options = field(repr=False)
    url: Url
    hidden: tuple[str, ...] = field(repr=False)

    def hide(self, answer: Exchange) -> Exchange:
        """The answer without what the target was told in secret."""
        answer.body = without(self.hidden, answer.body)
        if answer.status >= 300:  # of a success nobody keeps it
            answer.reason = without(self.hidden, answer.reason)
        return answer


class Credentials:
    """``send`` sends the requests for tokens; ``now`` is the database's time in seconds since 1970; ``authorities``
    are as in the setting ``tls_authorities``."""

    def __init__(
        self, get_secret: GetSecret, send: Send, now: Callable[[], int], authorities: str | None = None
    ) -> None:
        self._get_secret, self._tokens = get_secret, Tokens(get_secret, send, now)
        self._certificates = Certificates(get_secret, authorities)

    async def fill(self, options: Options, client: str, url: Url, deadline: float) -> Filled:
        """Raises DeliveryFailed where a secret cannot be had within ``deadline`` seconds, and FinalFailure for what no
        header can have; neither says what is in it."""
        headers, hidden = list[tuple[str, str | SecretRef]](), list[str]()
        try:
            async with asyncio.timeout(deadline):
                for name, given in options.headers:
                    text = given if isinstance(given, str) else await self._text(name, given, client)
                    headers.append((name, text))
                    if isinstance(given, SecretRef):
                        hidden.append(text.removeprefix(given.prefix))
                if options.auth is not None:
                    token = await self._tokens.get(options.auth, client, url)
                    headers.append(("Authorization", f"Bearer {token}"))
                    hidden.append(token)
                if options.tls is not None and url.origin.tls:
                    context = await self._certificates.context(options.tls, client)
                    url = url._replace(origin=url.origin._replace(context=context))
        except TimeoutError:
            raise DeliveryFailed(f"its secrets and tokens could not be had within {deadline:g} s") from None
        return Filled(replace(options, headers=tuple(headers)), url, tuple(hidden))

    def close(self) -> None:
        """Makes no more certificates."""
        self._certificates.close()

    def refused(self, options: Options, client: str) -> bool:
        """Forgets the token that a target has refused; whether there was one that may have been withdrawn early."""
        return options.auth is not None and self._tokens.forget(options.auth, client)

    async def _text(self, header: str, given: SecretRef, client: str) -> str:
        text = given.prefix + (await self._get_secret(client, given.name)).strip()
        if not _IN_A_HEADER.fullmatch(text):
            raise FinalFailure(
                f"the secret {given.name} cannot be in the header {header}: "
                "that is at most 8192 printable ASCII characters"
            )
        return text
