"""Signs users in with an OpenID Connect provider: the authorization code flow with PKCE (RFC 7636).

The browser is redirected to the provider with a state, a nonce and a challenge, and keeps the matching values in a
cookie for ten minutes. It returns with a code, which the API exchanges with the provider for an identity token (see
``pages.session``). The server stores nothing, so any process can finish a sign-in.

- The state proves that this browser began the sign-in; the nonce proves the same for the token.
- If the return names an issuer, that issuer must be the provider of the sign-in (RFC 9207).
- Anybody can forge a return and its cookie. So the provider is called only once per cookie, and at a limited rate for
  each client address.
- The provider's documents are read in the same way as its keys: over TLS, with limits on time and bytes.
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

import msgspec

from pgsched.api.provider_keys import Unusable, answered, asking, discovered, faults
from pgsched.api.quotas import RateLimits
from pgsched.domain.identity_providers import SignIn, may_be_asked
from pgsched.errors import InvalidSettings, Unauthenticated, Unavailable

if TYPE_CHECKING:
    from pgsched.api.provider_tokens import BearerTokens

_FRESH, _AGAIN = 300.0, 5.0  # seconds for which a discovery document is used, and until a failed request is retried
_RETURNS, _RETURNS_AT_ONCE = 5, 50  # sign-ins that one address may finish per second, and at once after a quiet period
_REMEMBERED = 10_000  # maximum number of remembered states for which a provider has been called


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingSignIn:
    """The values that the browser keeps while the user is at the provider."""

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
        """Parses text that ``written`` returned. Raises Unauthenticated for any other text."""
        try:
            return msgspec.json.decode(base64.urlsafe_b64decode(text or ""), type=cls)
        except (ValueError, msgspec.DecodeError):
            raise Unauthenticated(
                "this sign-in was not started in this browser, or expired after ten minutes: start again"
            ) from None


class SignIns:
    """Signs users in at those providers of ``tokens`` that have ``sign_in``. Raises InvalidSettings if a client secret
    cannot be read from its file."""

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
        """The labels of the sign-in buttons, by issuer."""
        return {issuer: sign_in.name for issuer, sign_in in self._sign_ins.items()}

    async def begin(self, issuer: str, next: str, returns_to: str) -> tuple[PendingSignIn, str]:
        """Starts a sign-in. Returns the values that the browser must keep, and the URL for its redirect. Raises
        Unauthenticated for an issuer without sign-in, and Unavailable."""
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
        """Finishes a sign-in from the address ``caller``, and returns the user's identity token. Raises
        Unauthenticated, Unavailable, and TooManyRequests if too many sign-ins come from this address."""
        tokens, sign_in = self._at(begun.issuer)
        if not hmac.compare_digest(answer.get("state", "").encode(), begun.state.encode()):
            raise Unauthenticated("the provider's response belongs to another sign-in: start again")
        if answer.get("iss", begun.issuer) != begun.issuer:
            raise Unauthenticated("the response came from another provider: start again")
        if "code" not in answer:
            raise Unauthenticated(
                f"the provider refused the sign-in: {answer.get('error', 'no reason was given')[:100]}"
            )
        self._count(begun, caller)
        token = await self._token(tokens, sign_in, begun, answer["code"], returns_to)
        claims = await tokens.claims(token, [sign_in.client_id])
        if claims.get("iss") != begun.issuer:
            raise Unauthenticated("the token was issued by another provider: start again")
        if not hmac.compare_digest(str(claims.get("nonce", "")).encode(), begun.nonce.encode()):
            raise Unauthenticated("the token belongs to another sign-in: start again")
        return token

    def _count(self, begun: PendingSignIn, caller: str) -> None:
        if begun.state in self._asked:
            raise Unauthenticated("this sign-in has already been used: start again")
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
            raise Unauthenticated("the provider returned no token for the code: start again") from None
        except faults() as error:
            raise _away(begun.issuer, error) from None
        token = told.get("id_token")
        if not isinstance(token, str):
            raise Unauthenticated("the provider returned no identity token: the scopes in sign_in must include openid")
        return token

    async def _endpoints(self, tokens: "BearerTokens", issuer: str) -> tuple[str, str]:
        """Returns the URLs of the provider's authorization and token endpoints. Raises Unavailable."""
        at, known = self._known.get(issuer, (float("-inf"), None))
        now = time.monotonic()
        if known is not None and now - at < _FRESH:
            return known
        if now - self._failed.get(issuer, float("-inf")) < _AGAIN:
            raise Unavailable(f"{issuer} could not be reached: try again in a moment")
        try:
            async with asking(tokens.context) as client:
                told = await discovered(client, issuer)
            found = _address(told, "authorization_endpoint"), _address(told, "token_endpoint")
        except faults() as error:
            self._failed[issuer] = now
            raise _away(issuer, error) from None
        self._known[issuer] = now, found
        return found

    def _at(self, issuer: str) -> "tuple[BearerTokens, SignIn]":
        if self._tokens is None or issuer not in self._sign_ins:
            raise Unauthenticated("sign-in with this provider is not configured")
        return self._tokens, self._sign_ins[issuer]


def _address(told: Mapping[str, Any], name: str) -> str:
    address = told.get(name)
    if not isinstance(address, str) or not may_be_asked(address):
        raise Unusable(f"{name} is not a URL that starts with https://")
    return address


def _away(issuer: str, error: Exception) -> Unavailable:
    return Unavailable(f"{issuer} cannot be reached: {type(error).__name__}; try again")


def _secret_of(sign_in: SignIn) -> str | None:
    if sign_in.client_secret_file is None:
        return None
    try:
        return Path(sign_in.client_secret_file).read_text(encoding="utf-8").strip()
    except (OSError, ValueError) as error:
        raise InvalidSettings(
            f"oidc: client_secret_file {sign_in.client_secret_file} cannot be read: {error}"
        ) from error
