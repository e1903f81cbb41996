"""The option ``auth``: how a worker gets the token with which it calls a target.

OAuth 2.0 client credentials (RFC 6749, section 4.4), or an identity token for a service account of Google's (a signed
assertion, RFC 7523, that is exchanged for a token of OpenID Connect).
"""

from dataclasses import dataclass
from typing import Any

from pgsched.domain.secret import is_name
from pgsched.domain.target import Scheme, parse_target
from pgsched.errors import InvalidOptions, InvalidTarget

_EXAMPLE = (
    '{"oauth2": {"token_url": "https://login.example/token", "client_id": "pgsched", "client_secret": "NAME"}} or '
    '{"google": {"key": "NAME"}}, where NAME is that of a secret'
)


@dataclass(frozen=True, slots=True)
class ClientCredentials:
    """``client_secret`` names a secret; ``scope`` and ``audience`` are sent where they are given."""

    token_url: str
    client_id: str
    client_secret: str
    scope: str | None = None
    audience: str | None = None

    @property
    def secret(self) -> str:
        """The name of the secret."""
        return self.client_secret


@dataclass(frozen=True, slots=True)
class ServiceAccount:
    """``key`` names a secret with the account's JSON key; ``audience`` is the target's origin where it is left out."""

    key: str
    audience: str | None = None

    @property
    def secret(self) -> str:
        """The name of the secret."""
        return self.key


Authorization = ClientCredentials | ServiceAccount


def parse_auth(key: str, value: Any) -> Authorization:
    """Raises InvalidOptions, with what to write; what was written may be a secret that got here by mistake, and is not
    repeated."""
    kinds: dict[str, type[Authorization]] = {"oauth2": ClientCredentials, "google": ServiceAccount}
    name, given = next(iter(value.items()), ("", None)) if isinstance(value, dict) and len(value) == 1 else ("", None)
    if name not in kinds or not isinstance(given, dict):
        raise InvalidOptions(f"{key} must be {_EXAMPLE}")
    if not all(isinstance(text, str) and 1 <= len(text) <= 2000 for text in given.values()):
        raise InvalidOptions(f"{key}.{name} must have texts of 1 to 2000 characters: write {_EXAMPLE}")
    try:
        made = kinds[name](**given)
    except TypeError:
        raise InvalidOptions(f"{key}.{name} has other members than it may have: write {_EXAMPLE}") from None
    if not is_name(made.secret):
        raise InvalidOptions(f"{key}.{name} must name a secret, not be one: write {_EXAMPLE}")
    if isinstance(made, ClientCredentials):
        _check_url(key, made.token_url)
    return made


def _check_url(key: str, url: str) -> None:
    try:
        scheme = parse_target(url).scheme
    except InvalidTarget:
        scheme = None
    if scheme not in (Scheme.HTTP, Scheme.HTTPS):
        raise InvalidOptions(f"{key}.oauth2.token_url must be an address such as https://login.example/token")
