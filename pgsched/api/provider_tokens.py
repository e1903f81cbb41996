"""Verifies bearer tokens of OpenID Connect providers with their issuer's keys.

The algorithm in the token's header is used only if the setting allows it and the key is meant for it. Keys and URLs of
keys in the token itself are ignored.
"""

from collections.abc import Sequence
from typing import Any

import jwt
from jwt import PyJWK
from jwt.exceptions import PyJWTError

from pgsched.api.provider_keys import SigningKeys
from pgsched.api.quotas import RateLimits
from pgsched.delivery.tls import trusting_context
from pgsched.domain.api_key import Grant
from pgsched.domain.identity_providers import Provider, parse_providers
from pgsched.errors import Unauthenticated
from pgsched.settings import Settings
from pgsched.telemetry import Events

_LONGEST = 16 * 1024
_LARGEST_KEY = 8192  # bits of an RSA modulus; the larger the modulus, the longer it takes to check a signature
_TYPES = frozenset({"jwt", "at+jwt"})
_FAULTS = (PyJWTError, ValueError, TypeError, OverflowError, RecursionError)
_KEY_OF = {"RS256": ("RSA", None), "PS256": ("RSA", None), "ES256": ("EC", "P-256"), "EdDSA": ("OKP", "Ed25519")}
_CLAIMS = ["exp", "iss", "aud", "sub"]


class BearerTokens:
    """Verifies tokens signed by the providers in the setting ``oidc``. The constructor raises InvalidSettings if this
    setting or ``tls_authorities`` is invalid."""

    def __init__(self, settings: Settings, events: Events) -> None:
        self.providers = parse_providers(settings.oidc)
        self.context = trusting_context(settings.tls_authorities)
        self._rate_limits = RateLimits()
        self._keys = {issuer: SigningKeys(issuer, self.context, events) for issuer in self.providers}

    async def grant(self, text: str, *, counted: bool = True, page: bool = False) -> Grant:
        """Returns the grant for a token. With ``page``, also accepts the identity token of a sign-in. Raises
        Unauthenticated if the token is invalid; Refused if a valid token grants nothing; TooManyRequests above the
        provider's rate; and Unavailable if the issuer's keys cannot be fetched."""
        provider = self._read(text)[1]
        audiences = [provider.audience]
        if page and provider.sign_in is not None:
            audiences.append(provider.sign_in.client_id)
        found = provider.grant(await self.claims(text, audiences))
        if counted and provider.rate is not None:
            self._rate_limits.take(found.subject, provider.rate, provider.burst or provider.rate)
        return found

    async def claims(self, text: str, audiences: Sequence[str]) -> dict[str, Any]:
        """Verifies a token for one of these audiences, and returns its claims. Raises Unauthenticated if the token is
        invalid, and Unavailable if the issuer's keys cannot be fetched."""
        head, provider = self._read(text)
        algorithm = head.get("alg")
        if algorithm not in provider.algorithms:
            raise Unauthenticated(f"the token's algorithm must be one of {', '.join(provider.algorithms)}")
        id = head.get("kid")
        if not isinstance(id, str) or not 1 <= len(id) <= 200:
            raise Unauthenticated("the token has no kid that names its signing key")
        for data in await self._keys[provider.issuer].find(id):
            if (key := _usable(data, algorithm)) is not None:
                return _checked(text, key, provider, audiences)
        raise Unauthenticated("the token's issuer has no key with the token's kid")

    def _read(self, text: str) -> tuple[dict[str, Any], Provider]:
        """Returns a token's header, and the provider whose issuer the token names. Both are unverified."""
        if len(text) > _LONGEST:
            raise Unauthenticated(f"the token is longer than {_LONGEST} characters")
        try:
            found = jwt.decode_complete(text, options={"verify_signature": False})
        except _FAULTS:
            raise Unauthenticated("this is neither a key nor a readable token") from None
        head, issuer = found["header"], found["payload"].get("iss")
        provider = self.providers.get(issuer) if isinstance(issuer, str) else None
        if provider is None:
            raise Unauthenticated("the token's issuer is not in the setting oidc")
        if str(head.get("typ", "JWT")).lower().removeprefix("application/") not in _TYPES:
            raise Unauthenticated("the token has the wrong type: send an access token or an identity token")
        return head, provider


def _usable(data: dict[str, Any], algorithm: str) -> PyJWK | None:
    """Returns the key for use with this algorithm, or None if the key is not meant for it."""
    kind, curve = _KEY_OF[algorithm]
    if (data.get("kty"), data.get("alg", algorithm)) != (kind, algorithm) or curve not in (None, data.get("crv")):
        return None
    public = {name: value for name, value in data.items() if name != "d"}
    try:
        key = PyJWK(public, algorithm)
    except _FAULTS:
        return None
    return key if getattr(key.key, "key_size", 0) <= _LARGEST_KEY else None


def _checked(text: str, key: PyJWK, provider: Provider, audiences: Sequence[str]) -> dict[str, Any]:
    """Verifies a token and returns its claims. Raises Unauthenticated if the token is invalid."""
    try:
        return jwt.decode(
            text,
            key,
            algorithms=[key.algorithm_name],
            audience=list(audiences),
            issuer=provider.issuer,
            leeway=provider.leeway,
            options={"require": _CLAIMS, "enforce_minimum_key_length": True},
        )
    except _FAULTS as error:
        raise Unauthenticated(f"the token is not accepted: {error}") from None
