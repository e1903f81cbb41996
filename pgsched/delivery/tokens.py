"""Access tokens for targets. A token is fetched once for all calls that need it, and used until shortly before it
expires."""

import asyncio
import base64
import re
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote_plus, urlencode

import orjson

from pgsched.delivery.exchange import DeliveryFailed, Exchange
from pgsched.delivery.url import Url, parse_url
from pgsched.domain.execution_options import Authorization, ClientCredentials, ServiceAccount
from pgsched.domain.gate import host_of
from pgsched.errors import InvalidSettings
from pgsched.extras import extra

LONGEST_ANSWER = 32_768
"""Maximum size of a token endpoint's response, in bytes."""
_WITHIN, _EARLY = 10.0, 30.0
_FRESH = 1.0  # a token that is newer than this, in seconds, is assumed not to have been revoked
_ASSERTED_FOR = 600
_USUAL, _LONGEST = 300.0, 3_600.0  # default and maximum lifetime of a token, in seconds
_MANY = 1000
_BY_ASSERTION = "urn:ietf:params:oauth:grant-type:jwt-bearer"
_TOKEN = re.compile(r"[A-Za-z0-9._~+/=-]{1,8000}")
_ERROR = re.compile(r"[a-z_]{1,60}")

Send = Callable[[Url, str, str, str, float], Awaitable[Exchange]]
"""Posts a form for a client. Takes the URL, header lines, form, client and timeout in seconds."""
_Wanted = tuple[str, Authorization, str]


@dataclass(frozen=True, slots=True)
class _Token:
    text: str = field(repr=False)
    fetched: float
    until: float


class TargetTokens:
    """The tokens of one process. Clients never share tokens, even if they would send equal requests."""

    def __init__(
        self, get_secret: Callable[[str, str, str], Awaitable[str]], send: Send, now: Callable[[], int]
    ) -> None:
        self._get_secret, self._send, self._now = get_secret, send, now
        self._known: dict[_Wanted, _Token] = {}
        self._fetching: dict[_Wanted, asyncio.Task[_Token]] = {}

    async def get(self, auth: Authorization, client: str, host: str, url: Url) -> str:
        """Returns a token. The secret used to fetch the token must be allowed for the target's ``host`` and for the
        token endpoint's host. Raises DeliveryFailed, which is retryable, if no token is available. Raises NoFreeSlot if
        all connections to the endpoint are in use."""
        await self._get_secret(client, auth.secret, host)
        wanted = (client, auth, _audience(auth, url))
        token = self._known.get(wanted)
        if token is None or token.until <= time.monotonic():
            if wanted not in self._fetching:
                task = self._fetching[wanted] = asyncio.create_task(self._fetch(wanted, host))
                task.add_done_callback(lambda _: self._fetching.pop(wanted, None))
            token = await asyncio.shield(self._fetching[wanted])
        return token.text

    def forget(self, auth: Authorization, client: str) -> bool:
        """Forgets the cached tokens that are older than a second. Returns whether there were any: if so, a new token
        may be accepted."""
        found = [wanted for wanted in self._known if wanted[:2] == (client, auth)]
        old = [wanted for wanted in found if time.monotonic() - self._known[wanted].fetched > _FRESH]
        for wanted in old:
            del self._known[wanted]
        return bool(old)

    async def _fetch(self, wanted: _Wanted, host: str) -> _Token:
        client, auth, audience = wanted
        if isinstance(auth, ClientCredentials):
            url, lines, form = await self._by_credentials(auth, client)
        else:
            url, lines, form = await self._by_assertion(auth, client, host, audience)
        asked = time.monotonic()
        answer = await self._send(url, f"{lines}Accept: application/json\r\n", urlencode(form), client, _WITHIN)
        token = _read(answer, url, asked)
        if len(self._known) >= _MANY:
            self._known.clear()
        self._known[wanted] = token
        return token

    async def _by_credentials(self, auth: ClientCredentials, client: str) -> tuple[Url, str, dict[str, str]]:
        secret = (await self._get_secret(client, auth.secret, host_of(auth.token_url) or "")).strip()
        pair = f"{quote_plus(auth.client_id)}:{quote_plus(secret)}".encode()
        form = {"grant_type": "client_credentials", "scope": auth.scope, "audience": auth.audience}
        lines = f"Authorization: Basic {base64.b64encode(pair).decode()}\r\n"
        return parse_url(auth.token_url), lines, {name: text for name, text in form.items() if text is not None}

    async def _by_assertion(
        self, auth: ServiceAccount, client: str, host: str, audience: str
    ) -> tuple[Url, str, dict[str, str]]:
        key = await self._get_secret(client, auth.secret, host)
        try:
            with extra("secrets", by="a service account's token"):
                import jwt

            account: dict[str, Any] = orjson.loads(key)
            address, name, now = str(account["token_uri"]), account["client_email"], self._now()
            claims = {"iss": name, "sub": name, "aud": address, "target_audience": audience}
            claims |= {"iat": now, "exp": now + _ASSERTED_FOR}
            headers = {"kid": str(account.get("private_key_id", ""))}
            assertion = jwt.encode(claims, account["private_key"], algorithm="RS256", headers=headers)
        except InvalidSettings as error:
            raise DeliveryFailed(str(error)) from None
        except Exception:  # the exception's message may contain a part of the key
            raise DeliveryFailed(f"the secret {auth.key} is not the JSON key of a Google service account") from None
        return parse_url(address), "", {"grant_type": _BY_ASSERTION, "assertion": assertion}


def _audience(auth: Authorization, url: Url) -> str:
    if isinstance(auth, ClientCredentials):
        return ""
    return auth.audience or f"{'https' if url.origin.tls else 'http'}://{url.authority}"


def _read(answer: Exchange, url: Url, asked: float) -> _Token:
    """Returns the token in a response. Raises DeliveryFailed if there is none. The message contains only the error code
    of a refusal, because the rest may repeat the secret."""
    try:
        said = orjson.loads(answer.body)
    except orjson.JSONDecodeError:
        said = None
    said = said if isinstance(said, dict) else {}
    text = said.get("access_token") or said.get("id_token")
    if answer.status != 200 or not isinstance(text, str) or not _TOKEN.fullmatch(text):
        code = str(said.get("error", ""))
        why = f" ({code})" if _ERROR.fullmatch(code) else ""
        raise DeliveryFailed(f"{url.authority} returned status {answer.status}{why} and no token")
    seconds = said.get("expires_in", _USUAL)
    seconds = min(float(seconds), _LONGEST) if isinstance(seconds, int | float) else _USUAL
    return _Token(text, asked, asked + max(seconds - _EARLY, seconds / 2))
