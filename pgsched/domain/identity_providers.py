"""Decides which OpenID Connect tokens are accepted, and for which clients and scopes.

A rule gives clients and scopes to every token that has all of the rule's claims. Only the first matching rule applies,
so the clients of one rule are never combined with the scopes of another. A token that matches no rule may do nothing.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from pgsched.domain.api_key import SCOPES, Grant
from pgsched.errors import InvalidSettings, Refused, Unauthenticated
from pgsched.settings import is_loopback

ALGORITHMS = ("RS256", "PS256", "ES256", "EdDSA")
_MOST_CLIENTS = 100
_SUBJECT = 180
_FASTEST = 1_000_000
_PROVIDER = frozenset({"audience", "algorithms", "leeway", "rate", "burst", "rules", "sign_in"})
_SIGN_IN = frozenset({"client_id", "client_secret_file", "scopes", "name"})
_RULE = frozenset({"claims", "clients", "scopes"})


@dataclass(frozen=True, slots=True)
class FromClaim:
    """A reference to the values of a token's claim that begin with the prefix. The claim is a list of strings or a
    string of words."""

    claim: str
    prefix: str = ""

    def read(self, claims: Mapping[str, Any]) -> frozenset[str]:
        found = _claim(claims, self.claim)
        words = found.split() if isinstance(found, str) else found if isinstance(found, list) else []
        texts = (word for word in words if isinstance(word, str) and word.startswith(self.prefix))
        return frozenset(word.removeprefix(self.prefix) for word in texts)


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule. ``clients`` is None for all clients."""

    claims: Mapping[str, Any]
    clients: frozenset[str] | FromClaim | None
    scopes: frozenset[str] | FromClaim

    def fits(self, claims: Mapping[str, Any]) -> bool:
        return all(_has(_claim(claims, name), wanted) for name, wanted in self.claims.items())


@dataclass(frozen=True, slots=True, kw_only=True)
class SignIn:
    """Settings for signing in to the dashboard through a provider. ``client_id`` identifies the dashboard as a client
    of the provider; without a secret file, the dashboard is a public client. ``name`` is the button's label.
    """

    client_id: str
    client_secret_file: str | None
    scopes: tuple[str, ...]
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """A provider. Its tokens are accepted if they are for ``audience`` and signed with one of ``algorithms``. If
    ``sign_in`` is given, people can sign in through the provider. ``rate`` is the number of requests that each subject
    may send per second, if limited."""

    issuer: str
    audience: str
    algorithms: tuple[str, ...]
    leeway: float
    rate: int | None
    burst: int | None
    rules: tuple[Rule, ...]
    sign_in: SignIn | None = None

    def grant(self, claims: Mapping[str, Any]) -> Grant:
        """Returns what the holder of a token with these claims may do. Raises Unauthenticated if the token does not
        identify its holder, and Refused if the token permits nothing.
        """
        who = claims.get("sub")
        if not isinstance(who, str) or not 1 <= len(who) <= _SUBJECT or not who.isprintable():
            raise Unauthenticated(f"the token's sub must be a string of 1 to {_SUBJECT} printable characters")
        rule = next((rule for rule in self.rules if rule.fits(claims)), None)
        if rule is None:
            raise Refused("the token is valid, but no rule for its issuer in the setting oidc matches its claims")
        clients = rule.clients.read(claims) if isinstance(rule.clients, FromClaim) else rule.clients
        scopes = rule.scopes.read(claims) if isinstance(rule.scopes, FromClaim) else rule.scopes
        if clients is not None:
            clients = frozenset(name for name in clients if 1 <= len(name) <= 100 and name.isprintable())
            if not clients or len(clients) > _MOST_CLIENTS:
                raise Refused(f"the token must name 1 to {_MOST_CLIENTS} clients, but names {len(clients)}")
        return Grant(subject=f"{who} ({self.issuer})", clients=clients, scopes=scopes & frozenset(SCOPES))


def parse_providers(text: str) -> dict[str, Provider]:
    """Parses the setting ``oidc``, and returns the providers by issuer. Raises InvalidSettings, with what to write
    instead."""
    return {issuer: _provider(issuer, given) for issuer, given in json.loads(text).items()}


def may_be_asked(url: str) -> bool:
    """Whether signing keys may be fetched from a URL. The URL must use TLS or refer to this machine."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return bool(parts.hostname) and (
        parts.scheme == "https" or (parts.scheme == "http" and is_loopback(parts.hostname or ""))
    )


def _provider(issuer: str, given: Any) -> Provider:
    if not may_be_asked(issuer):
        raise _invalid(issuer, "the issuer must be an https:// URL, and equal the iss claim of its tokens")
    if not isinstance(given, dict) or given.keys() - _PROVIDER or not isinstance(given.get("audience"), str):
        raise _invalid(
            issuer,
            "write audience and rules; algorithms, leeway, rate, burst, and sign_in for the dashboard are optional",
        )
    algorithms, leeway, rules = (
        given.get("algorithms", ["RS256", "ES256", "EdDSA"]),
        given.get("leeway", 5),
        given.get("rules"),
    )
    if not isinstance(algorithms, list) or not algorithms or not all(one in ALGORITHMS for one in algorithms):
        raise _invalid(issuer, f"algorithms must be a list of {', '.join(ALGORITHMS)}")
    if isinstance(leeway, bool) or not isinstance(leeway, int | float) or not 0 <= leeway <= 60:
        raise _invalid(issuer, "leeway must be a number of seconds from 0 to 60")
    if not isinstance(rules, list) or not rules:
        raise _invalid(issuer, "rules must be a list of at least one rule")
    parsed = tuple(_rule(issuer, rule) for rule in rules)
    return Provider(
        issuer=issuer,
        audience=given["audience"],
        algorithms=tuple(algorithms),
        leeway=leeway,
        rate=_count(issuer, given, "rate"),
        burst=_count(issuer, given, "burst"),
        rules=parsed,
        sign_in=_sign_in(issuer, given["sign_in"]) if "sign_in" in given else None,
    )


def _sign_in(issuer: str, given: Any) -> SignIn:
    texts = {name: given[name] for name in given if name != "scopes"} if isinstance(given, dict) else {}
    scopes = given.get("scopes", ["openid"]) if isinstance(given, dict) else []
    if (
        not isinstance(given, dict)
        or given.keys() - _SIGN_IN
        or "client_id" not in given
        or not all(isinstance(text, str) and text for text in texts.values())
        or not isinstance(scopes, list)
        or not all(isinstance(one, str) and re.fullmatch(r"[!#-\[\]-~]{1,100}", one) for one in scopes)
        or "openid" not in scopes
    ):
        raise _invalid(
            issuer,
            "sign_in needs the dashboard's client_id at the provider; client_secret_file, scopes (a list with "
            "openid) and name are optional",
        )
    return SignIn(
        client_id=given["client_id"],
        client_secret_file=given.get("client_secret_file"),
        scopes=tuple(scopes),
        name=given.get("name", str(urlsplit(issuer).hostname)),
    )


def _count(issuer: str, given: Mapping[str, Any], name: str) -> int | None:
    found = given.get(name)
    if found is None or (type(found) is int and 1 <= found <= _FASTEST and given.get("rate") is not None):
        return found
    raise _invalid(issuer, f'"{name}" must be a whole number of requests from 1 to {_FASTEST:,}; "burst" needs "rate"')


def _rule(issuer: str, given: Any) -> Rule:
    if not isinstance(given, dict) or given.keys() != _RULE or not isinstance(given["claims"], dict):
        raise _invalid(
            issuer, 'a rule must have claims, clients and scopes; clients must be a list, {"claim": NAME} or "all"'
        )
    # A rule without claims would match every token of the issuer, and some issuers give tokens to anyone.
    if not given["claims"] or not all(isinstance(one, str | int) for one in given["claims"].values()):
        raise _invalid(
            issuer,
            "claims must name at least one claim, each with a string, a whole number, true or false",
        )
    clients, scopes = given["clients"], _texts(issuer, given["scopes"])
    if isinstance(scopes, frozenset) and not scopes <= frozenset(SCOPES):
        raise _invalid(issuer, f"scopes may contain only {', '.join(SCOPES)}")
    return Rule(given["claims"], None if clients == "all" else _texts(issuer, clients), scopes)


def _texts(issuer: str, given: Any) -> frozenset[str] | FromClaim:
    if isinstance(given, dict) and isinstance(given.get("claim"), str) and given.keys() <= {"claim", "prefix"}:
        return FromClaim(given["claim"], str(given.get("prefix", "")))
    if isinstance(given, list) and given and all(isinstance(one, str) and one for one in given):
        return frozenset(given)
    raise _invalid(issuer, 'clients and scopes must be lists of strings, or {"claim": NAME, "prefix": TEXT}')


def _claim(claims: Mapping[str, Any], name: str) -> Any:
    """Returns the claim with this name or dotted path, or None if the claim is missing."""
    if name in claims:
        return claims[name]
    found: Any = claims
    for part in name.split("."):
        found = found.get(part) if isinstance(found, Mapping) else None
    return found


def _has(found: Any, wanted: Any) -> bool:
    """Whether a claim is the wanted value, or a list that contains it. Unlike in Python, True does not equal 1."""
    candidates = found if isinstance(found, list) else [found]
    return any(type(one) is type(wanted) and one == wanted for one in candidates)


def _invalid(issuer: str, detail: str) -> InvalidSettings:
    return InvalidSettings(f"oidc, {issuer[:200]}: {detail}")
