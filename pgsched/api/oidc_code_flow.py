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

import base64
import hashlib
import hmac
import secrets
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

import httpx
import msgspec

from pgsched.api.provider_keys import Unusable, answered, asking, discovered
from pgsched.api.quotas import RateLimits
from pgsched.domain.identity_providers import SignIn, may_be_asked
from pgsched.errors import InvalidSettings, Unauthenticated, Unavailable

if TYPE_CHECKING:
    from pgsched.api.provider_tokens import BearerTokens

_FRESH, _AGAIN = 300.0, 5.0  # seconds that a discovery document is used, and before one that failed is asked for again
_RETURNS, _RETURNS_AT_ONCE = 5, 50  # how many answers an address brings a second, and after a lull
_REMEMBERED = 10_000  # states for which a provider was asked
_FAULTS = (httpx.HTTPError, httpx.InvalidURL, TimeoutError, Unusable)


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingSignIn:
    """What a browser keeps until it comes back from the provider."""

    issuer: str
    state: str
    nonce: str
    verifier: str
    next: str

    @classmethod
    def at(cls, issuer: str, next: str) -> "PendingSignIn":
        state, nonce = secrets.token_urlsafe(32), secrets.token_urlsafe(32)
        return cls(issuer=issuer, state=state, nonce=nonce, verifier=secrets.token_urlsafe(48), next=next)

    @property
    def challenge(self) -> str:
        return base64.urlsafe_b64encode(hashlib.sha256(self.verifier.encode()).digest()).decode().rstrip("=")

    def written(self) -> str:
        return base64.urlsafe_b64encode(msgspec.json.encode(asdict(self))).decode()

    @classmethod
    def read(cls, text: str | None) -> "PendingSignIn":
        """Raises Unauthenticated for what was not written here."""
        try:
            return msgspec.json.decode(base64.urlsafe_b64decode(text or ""), type=cls)
        except (ValueError, msgspec.DecodeError):
            raise Unauthenticated(
                "this sign-in was not begun here, or longer than ten minutes ago: begin again"
            ) from None


class SignIns:
    """Signs people in at the providers with ``sign_in`` whose ``tokens`` are taken; at none where none are. Raises
    InvalidSettings for a file with a client's secret that cannot be read."""

    def __init__(self, tokens: "BearerTokens | None") -> None:
        providers = tokens.providers if tokens else {}
        self._tokens = tokens
        self._sign_ins = {issuer: one.sign_in for issuer, one in providers.items() if one.sign_in is not None}
        self._secrets = {issuer: _secret_of(sign_in) for issuer, sign_in in self._sign_ins.items()}
        self._known: dict[str, tuple[float, tuple[str, str]]] = {}
        self._failed: dict[str, float] = {}
        self._rate_limits = RateLimits()
        self._asked: dict[str, None] = {}

    @property
    def names(self) -> dict[str, str]:
        """What the buttons say, by issuer."""
        return {issuer: sign_in.name for issuer, sign_in in self._sign_ins.items()}

    async def begin(self, issuer: str, next: str, returns_to: str) -> tuple[PendingSignIn, str]:
        """What the browser is to keep, and where it goes. Raises Unauthenticated for an issuer at which nobody signs
        in, and Unavailable."""
        tokens, sign_in = self._at(issuer)
        begun = PendingSignIn.at(issuer, next)
        asked = {
            "response_type": "code",
            "client_id": sign_in.client_id,
            "redirect_uri": returns_to,
            "scope": " ".join(sign_in.scopes),
            "state": begun.state,
            "nonce": begun.nonce,
            "code_challenge": begun.challenge,
            "code_challenge_method": "S256",
        }
        address, _ = await self._endpoints(tokens, issuer)
        return begun, f"{address}{'&' if '?' in address else '?'}{urlencode(asked)}"

    async def finish(self, begun: PendingSignIn, answer: Mapping[str, str], returns_to: str, caller: str) -> str:
        """The identity token of who has signed in, from the address ``caller``. Raises Unauthenticated, Unavailable;
        TooManyRequests for a caller of whom the provider would be asked too often."""
        tokens, sign_in = self._at(begun.issuer)
        if not hmac.compare_digest(answer.get("state", "").encode(), begun.state.encode()):
            raise Unauthenticated("the answer belongs to another sign-in: begin again")
        if answer.get("iss", begun.issuer) != begun.issuer:
            raise Unauthenticated("the answer is another provider's")
        if "code" not in answer:
            raise Unauthenticated(
                f"the provider has signed nobody in: {answer.get('error', 'it gives no reason')[:100]}"
            )
        self._count(begun, caller)
        token = await self._token(tokens, sign_in, begun, answer["code"], returns_to)
        claims = await tokens.claims(token, [sign_in.client_id])
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

    async def _token(
        self, tokens: "BearerTokens", sign_in: SignIn, begun: PendingSignIn, code: str, returns_to: str
    ) -> str:
        form = {"grant_type": "authorization_code", "code": code, "redirect_uri": returns_to}
        form |= {"code_verifier": begun.verifier, "client_id": sign_in.client_id}
        given: dict[str, Any] = {"data": form}
        if (secret := self._secrets[begun.issuer]) is not None:
            del form["client_id"]
            given["auth"] = (quote(sign_in.client_id, safe=""), quote(secret, safe=""))
        _, address = await self._endpoints(tokens, begun.issuer)
        try:
            async with asking(tokens.context) as client:
                told = await answered(client, "POST", address, **given)
        except Unusable:
            raise Unauthenticated("the provider has given no token for its code: begin again") from None
        except _FAULTS as error:
            raise _away(begun.issuer, error) from None
        token = told.get("id_token")
        if not isinstance(token, str):
            raise Unauthenticated("the provider has given no identity token: its scopes must have openid")
        return token

    async def _endpoints(self, tokens: "BearerTokens", issuer: str) -> tuple[str, str]:
        """Where the provider authorizes, and where it gives tokens. Raises Unavailable."""
        at, known = self._known.get(issuer, (float("-inf"), None))
        now = time.monotonic()
        if known is not None and now - at < _FRESH:
            return known
        if now - self._failed.get(issuer, float("-inf")) < _AGAIN:
            raise Unavailable(f"{issuer} could not be asked: try again in a moment")
        try:
            async with asking(tokens.context) as client:
                told = await discovered(client, issuer)
            found = _address(told, "authorization_endpoint"), _address(told, "token_endpoint")
        except _FAULTS as error:
            self._failed[issuer] = now
            raise _away(issuer, error) from None
        self._known[issuer] = now, found
        return found

    def _at(self, issuer: str) -> "tuple[BearerTokens, SignIn]":
        if self._tokens is None or issuer not in self._sign_ins:
            raise Unauthenticated("nobody signs in at this provider here")
        return self._tokens, self._sign_ins[issuer]


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
