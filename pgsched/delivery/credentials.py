"""What a callback shows to its target: secrets in its headers, and tokens that are fetched with secrets."""

import asyncio
import re
from collections.abc import Awaitable, Callable
from dataclasses import replace

from pgsched.delivery.channel import FinalFailure
from pgsched.delivery.exchange import DeliveryFailed
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


class Credentials:
    """``send`` sends the requests for tokens; ``now`` is the database's time in seconds since 1970."""

    def __init__(self, get_secret: GetSecret, send: Send, now: Callable[[], int]) -> None:
        self._get_secret, self._tokens = get_secret, Tokens(get_secret, send, now)

    async def fill(self, options: Options, client: str, url: Url, deadline: float) -> Options:
        """The options with the client's own secrets, and its token, in their headers. Raises DeliveryFailed where one
        cannot be had within ``deadline`` seconds, and FinalFailure for what no header can have; neither says what is in
        it."""
        try:
            async with asyncio.timeout(deadline):
                headers = [(name, await self._text(name, given, client)) for name, given in options.headers]
                if options.auth is not None:
                    token = await self._tokens.get(options.auth, client, url)
                    headers.append(("Authorization", f"Bearer {token}"))
        except TimeoutError:
            raise DeliveryFailed(f"its secrets and tokens could not be had within {deadline:g} s") from None
        return replace(options, headers=tuple(headers))

    def refused(self, options: Options, client: str) -> bool:
        """Forgets the token that a target has refused; whether there was one that may have been withdrawn early."""
        return options.auth is not None and self._tokens.forget(options.auth, client)

    async def _text(self, header: str, given: str | SecretRef, client: str) -> str:
        if isinstance(given, str):
            return given
        text = given.prefix + (await self._get_secret(client, given.name)).strip()
        if not _IN_A_HEADER.fullmatch(text):
            raise FinalFailure(
                f"the secret {given.name} cannot be in the header {header}: "
                "that is at most 8192 printable ASCII characters"
            )
        return text
