"""Signing in at an OpenID Connect provider: the authorization code flow with PKCE (RFC 7636).

The browser is sent to the provider with a state, a nonce and a challenge, and keeps what belongs to them in a cookie of
its own for ten minutes. It comes back with a code, which the provider gives an identity token for. That token is what
the dashboard then knows somebody by (``pages.session``): nothing is kept here, and any process can finish what another
has begun.

- The state shows that the answer belongs to a question of this browser; the nonce, that the token does.
- The issuer, where the answer names it, is the one that was asked (RFC 9207).
- Anybody can make up an answer together with the cookie that it belongs to. So the provider is asked once for each
  cookie, and so many times a second for each address that answers come from.
- The provider's documents are read as those with its keys are: over TLS, bounded in time and in bytes.
"""

import hmac
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import httpx

from pgsched.api.pages.provider import PendingSignIn, Providers
from pgsched.api.provider_keys import Unusable, answered, asking, discovered
from pgsched.api.provider_tokens import BearerTokens
from pgsched.api.quotas import RateLimits
from pgsched.delivery.tls import trusting_context
from pgsched.domain.identity_providers import Provider, SignIn, may_be_asked, parse_providers
from pgsched.errors import InvalidSettings, Unauthenticated, Unavailable
from pgsched.settings import Settings

_FRESH, _AGAIN = 300.0, 5.0  # seconds that a discovery document is used, and before one that failed is asked for again
_RETURNS, _RETURNS_AT_ONCE = 5, 50  # how many answers an address brings a second, and after a lull
_REMEMBERED = 10_000  # states for which a provider was asked
_FAULTS = (httpx.HTTPError, httpx.InvalidURL, TimeoutError, Unusable)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Endpoints:
    authorization: str
    token: str


class SignIns(Providers):
    """Signs people in at the providers of the setting ``oidc`` that have ``sign_in``. Raises InvalidSettings for a file
    with a client's secret that cannot be read."""

    def __init__(self, settings: Settings, tokens: BearerTokens) -> None:
        providers = parse_providers(settings.oidc).values()
        self._providers = {one.issuer: one for one in providers if one.sign_in is not None}
        self._secrets = {issuer: _secret_of(one.sign_in) for issuer, one in self._providers.items() if one.sign_in}
        self._context, self._tokens = trusting_context(settings.tls_authorities), tokens
        self._known: dict[str, tuple[float, _Endpoints]] = {}
        self._failed: dict[str, float] = {}
        self._rate_limits = RateLimits()
        self._asked: dict[str, None] = {}

    @property
    def names(self) -> dict[str, str]:
        return {issuer: one.sign_in.name for issuer, one in self._providers.items() if one.sign_in}

    async def begin(self, issuer: str, next: str, returns_to: str) -> tuple[PendingSignIn, str]:
        provider, begun = self._provider(issuer), PendingSignIn.at(issuer, next)
        assert provider.sign_in is not None
        asked = {
            "response_type": "code",
            "client_id": provider.sign_in.client_id,
            "redirect_uri": returns_to,
            "scope": " ".join(provider.sign_in.scopes),
            "state": begun.state,
            "nonce": begun.nonce,
            "code_challenge": begun.challenge,
            "code_challenge_method": "S256",
        }
        address = (await self._endpoints(issuer)).authorization
        return begun, f"{address}{'&' if '?' in address else '?'}{urlencode(asked)}"

    async def finish(self, begun: PendingSignIn, answer: Mapping[str, str], returns_to: str, caller: str) -> str:
        provider = self._provider(begun.issuer)
        if not hmac.compare_digest(answer.get("state", "").encode(), begun.state.encode()):
            raise Unauthenticated("the answer belongs to another sign-in: begin again")
        if answer.get("iss", begun.issuer) != begun.issuer:
            raise Unauthenticated("the answer is another provider's")
        if "code" not in answer:
            raise Unauthenticated(
                f"the provider has signed nobody in: {answer.get('error', 'it gives no reason')[:100]}"
            )
        self._count(begun, caller)
        token = await self._token(provider, begun, answer["code"], returns_to)
        assert provider.sign_in is not None
        claims = await self._tokens.claims(token, [provider.sign_in.client_id])
        if claims.get("iss") != begun.issuer:
            raise Unauthenticated("the token is another provider's")
        if not hmac.compare_digest(str(claims.get("nonce", "")).encode(), begun.nonce.encode()):
            raise Unauthenticated("the token belongs to another sign-in: begin again")
        return token

    def _count(self, begun: PendingSignIn, caller: str) -> None:
        if begun.state in self._asked:
            raise Unauthenticated("the provider was asked about this sign-in before: begin again")
        self._rate_limits.take(f"signing in from {caller}", _RETURNS, _RETURNS_AT_ONCE)
        self._asked[begun.state] = None
        if len(self._asked) > _REMEMBERED:
            del self._asked[next(iter(self._asked))]

    async def _token(self, provider: Provider, begun: PendingSignIn, code: str, returns_to: str) -> str:
        assert provider.sign_in is not None
        form = {"grant_type": "authorization_code", "code": code, "redirect_uri": returns_to}
        form |= {"code_verifier": begun.verifier, "client_id": provider.sign_in.client_id}
        given: dict[str, Any] = {"data": form}
        if (secret := self._secrets[provider.issuer]) is not None:
            del form["client_id"]
            given["auth"] = (quote(provider.sign_in.client_id, safe=""), quote(secret, safe=""))
        address = (await self._endpoints(provider.issuer)).token
        try:
            async with asking(self._context) as client:
                told = await answered(client, "POST", address, **given)
        except Unusable:
            raise Unauthenticated("the provider has given no token for its code: begin again") from None
        except _FAULTS as error:
            raise _away(provider.issuer, error) from None
        token = told.get("id_token")
        if not isinstance(token, str):
            raise Unauthenticated("the provider has given no identity token: its scopes must have openid")
        return token

    async def _endpoints(self, issuer: str) -> _Endpoints:
        """Raises Unavailable."""
        at, known = self._known.get(issuer, (float("-inf"), None))
        now = time.monotonic()
        if known is not None and now - at < _FRESH:
            return known
        if now - self._failed.get(issuer, float("-inf")) < _AGAIN:
            raise Unavailable(f"{issuer} could not be asked: try again in a moment")
        try:
            async with asking(self._context) as client:
                told = await discovered(client, issuer)
            found = _Endpoints(
                authorization=_address(told, "authorization_endpoint"), token=_address(told, "token_endpoint")
            )
        except _FAULTS as error:
            self._failed[issuer] = now
            raise _away(issuer, error) from None
        self._known[issuer] = now, found
        return found

    def _provider(self, issuer: str) -> Provider:
        if issuer not in self._providers:
            raise Unauthenticated("nobody signs in at this provider here")
        return self._providers[issuer]


def _address(told: Mapping[str, Any], name: str) -> str:
    address = told.get(name)
    if not isinstance(address, str) or not may_be_asked(address):
        raise Unusable(f"{name} is no URL that begins with https://")
    return address


def _away(issuer: str, error: Exception) -> Unavailable:
    return Unavailable(f"{issuer} cannot be asked: {type(error).__name__}; try again")


def _secret_of(sign_in: SignIn) -> str | None:
    if sign_in.client_secret_file is None:
        return None
    try:
        return Path(sign_in.client_secret_file).read_text(encoding="utf-8").strip()
    except (OSError, ValueError) as error:
        raise InvalidSettings(
            f"oidc: client_secret_file {sign_in.client_secret_file} cannot be read: {error}"
        ) from error
