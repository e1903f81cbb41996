"""Decodes the options of an execution, and fills in their defaults.

The database checks options (``interface/core/execution_options.sql``) and decides about retries, so this module only
decodes.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any

import orjson

from pgsched.domain.body import Body, body_of
from pgsched.domain.cloudevent import ATTRIBUTES, CloudEvent
from pgsched.domain.duration import parse_duration
from pgsched.domain.secret import SecretRef
from pgsched.errors import InvalidInput, InvalidOptions

DEFAULT_ATTEMPTS = 22
"""Default number of attempts: enough to outlast an outage of an hour even with the shortest backoffs."""
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD")
_LONGEST_REMEMBERED = 2_048  # bytes; thousands of larger options from one client must not fill the memory

Headers = tuple[tuple[str, str | SecretRef], ...]


@dataclass(frozen=True, slots=True)
class ClientCredentials:
    """OAuth 2.0 client credentials (RFC 6749, section 4.4). ``client_secret`` is the name of a stored secret; ``scope``
    and ``audience`` are sent if given.
    """

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
    """A Google service account. Its signed assertion (RFC 7523) is exchanged for an OpenID Connect token. ``key`` is
    the name of the stored secret that contains the account's JSON key. ``audience`` defaults to the target's origin."""

    key: str
    audience: str | None = None

    @property
    def secret(self) -> str:
        """The name of the secret."""
        return self.key


Authorization = ClientCredentials | ServiceAccount


@dataclass(frozen=True, slots=True)
class ClientCertificate:
    """A client certificate. ``certificate`` and ``key`` are names of stored secrets. Without ``key``, the secret
    ``certificate`` contains both.
    """

    certificate: str
    key: str | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the secrets."""
        return (self.certificate,) if self.key is None else (self.certificate, self.key)


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The options that control delivery. Options that only the database reads (``backoff``, ``priority``, ``ordering``,
    ``on_failure``, ``on_expired``) are left out. ``headers`` are sent with an HTTP call in addition to pgsched's own.

    Three options limit an execution's age, in seconds after its planned start (its nominal instant, or later with
    jitter). None means no limit. After ``relevant_for``, no attempt begins, and the execution expires. After
    ``max_retry_age``, no retry begins. At ``deadline``, the execution ends, and an attempt in flight is cut short.

    ``limit_key`` names one of the client's limits, which the execution must pass. ``deferred`` is the number of seconds
    that an HTTP target has to complete the execution after responding 202. ``on_success`` is a target that is notified
    of success. ``auth`` says how to get a token, and ``tls`` which certificate to present. ``traceparent`` belongs to
    the caller's trace. With ``cloudevent``, HTTP and Kafka targets get a CloudEvent. With ``body``, they get a body
    other than the payload's JSON. With ``keep_answer``, the response of an HTTP target becomes the result.
    ``has_secrets`` means that a header, ``auth`` or ``tls`` names a secret.
    """

    timeout_seconds: float = 30.0
    max_attempts: int = DEFAULT_ATTEMPTS
    relevant_for: float | None = None
    max_retry_age: float | None = None
    deadline: float | None = None
    method: str = "POST"
    headers: Headers = ()
    auth: Authorization | None = None
    tls: ClientCertificate | None = None
    retry_on: frozenset[int] = frozenset()
    fail_on: frozenset[int] = frozenset()
    on_success: str | None = None
    limit_key: str | None = None
    deferred: float | None = None
    traceparent: str | None = None
    cloudevent: CloudEvent | None = None
    keep_answer: bool = False
    body: Body | None = None
    has_secrets: bool = False


DEFAULT_OPTIONS = Options()


def parse_options(raw: bytes | None, *defaults: bytes) -> Options:
    """Parses the options in a JSON object. A missing option is taken from the first of ``defaults`` that contains it,
    or else from pgsched's own defaults. Headers are merged by name.

    Raises InvalidOptions for an option that is unknown in this release, for a value that the database would refuse, and
    for an ``auth`` that conflicts with a header from another level.
    """
    if raw is not None and (len(raw) > _LONGEST_REMEMBERED or b'"traceparent"' in raw):  # every traceparent differs
        return _parse_options.__wrapped__(raw, *defaults)
    return _parse_options(raw, *defaults)


@lru_cache(maxsize=4096)
def _parse_options(raw: bytes | None, *defaults: bytes) -> Options:
    try:
        given = {} if raw is None else _object(raw)
        for default in defaults:
            given = _merged(given, _object(default))
        found = {_FIELDS.get(name, name): _DECODERS.get(name, _as_it_is)(value) for name, value in given.items()}
    except (AttributeError, KeyError, TypeError, ValueError, InvalidInput):
        # The message omits the value, in which somebody may have written a secret instead of its name.
        raise InvalidOptions("the options are not valid: write them as described in the options reference") from None
    if unknown := sorted(given.keys() - set(OPTIONS)):
        raise InvalidOptions(f"there is no option {unknown[0][:64]!r}; the options are {', '.join(OPTIONS)}")
    headers = found.get("headers", ())
    if "cloudevent" in found:  # pgsched sets these headers itself
        found["headers"] = headers = tuple(header for header in headers if header[0].lower() not in _OF_EVENTS)
    if "auth" in found and any(name.lower() == "authorization" for name, _ in headers):
        raise InvalidOptions("auth sets the header Authorization: leave Authorization out of headers")
    has_secrets = "auth" in found or "tls" in found or any(isinstance(text, SecretRef) for _, text in headers)
    return Options(**{name: value for name, value in found.items() if name in _KEPT}, has_secrets=has_secrets)


@lru_cache(maxsize=1024)
def without_spans(raw: bytes) -> bytes:
    """Returns the options without the limits on an execution's age."""
    return orjson.dumps({key: value for key, value in orjson.loads(raw).items() if key not in _SPANS})


def _object(raw: bytes) -> dict[str, Any]:
    given: dict[str, Any] = orjson.loads(raw)
    if isinstance(waits := given.get("backoff"), list):
        given.setdefault("max_attempts", len(waits) + 1)
    return given


def _merged(given: dict[str, Any], default: dict[str, Any]) -> dict[str, Any]:
    """Returns the given options, with missing options taken from the default."""
    merged = default | given
    if "headers" in given:
        names = {name.lower() for name in given["headers"]}
        kept = {name: text for name, text in default.get("headers", {}).items() if name.lower() not in names}
        merged["headers"] = kept | given["headers"]
    for codes, opposite in (("retry_on", "fail_on"), ("fail_on", "retry_on")):
        if codes in given and opposite in default and opposite not in given:
            merged[opposite] = [code for code in default[opposite] if code not in given[codes]]
    return merged


def _seconds(value: str) -> float:
    return parse_duration(value).total_seconds()


def _headers(value: dict[str, Any]) -> Headers:
    return tuple(
        (name, SecretRef(text["secret"], text.get("prefix", "")) if isinstance(text, dict) else text)
        for name, text in value.items()
    )


def _auth(value: dict[str, Any]) -> Authorization:
    return ClientCredentials(**value["oauth2"]) if "oauth2" in value else ServiceAccount(**value["google"])


def _as_it_is(value: Any) -> Any:
    return value


_OF_EVENTS = frozenset(f"ce-{name}" for name in ATTRIBUTES)
_FIELDS = {"timeout": "timeout_seconds"}
_KEPT = frozenset(field.name for field in fields(Options))
_SPANS = frozenset({"relevant_for", "max_retry_age", "deadline"})
_DECODERS: dict[str, Callable[[Any], Any]] = {
    "timeout": _seconds,
    "max_attempts": int,
    "relevant_for": _seconds,
    "max_retry_age": _seconds,
    "deadline": _seconds,
    "headers": _headers,
    "auth": _auth,
    "tls": lambda value: ClientCertificate(**value),
    "retry_on": frozenset,
    "fail_on": frozenset,
    "deferred": _seconds,
    "cloudevent": lambda value: CloudEvent(**value),
    "body": body_of,
}
OPTIONS = (
    *("timeout", "max_attempts", "backoff", "relevant_for", "max_retry_age", "deadline", "method", "headers", "auth"),
    *("tls", "retry_on", "fail_on", "on_success", "on_failure", "on_expired", "limit_key", "priority", "ordering"),
    *("deferred", "traceparent", "cloudevent", "keep_answer", "body"),
)
"""The names of all options."""
