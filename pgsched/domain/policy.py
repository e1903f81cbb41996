"""The ``options`` of a row, checked and with their defaults. Retries are decided by them in ``ends/policy.sql``."""

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any

import orjson

from pgsched.domain.authorization import Authorization, parse_auth
from pgsched.domain.body import Body, parse_body
from pgsched.domain.certificate import ClientCertificate, parse_tls
from pgsched.domain.cloudevent import ATTRIBUTES, CloudEvent, parse_cloudevent
from pgsched.domain.duration import LONGEST, parse_duration
from pgsched.domain.headers import Headers, parse_headers, shown
from pgsched.domain.secret import SecretRef
from pgsched.domain.target import parse_target
from pgsched.domain.trace import parse_traceparent
from pgsched.errors import InvalidOptions, InvalidSchedule

DEFAULT_ATTEMPTS = 22
"""Enough to outlast a target that is away for an hour, even if every wait drawn is the shortest possible."""
LONGEST_OPTIONS = 65_536
"""Bytes of JSON, as PostgreSQL writes it."""
_LONGEST_REMEMBERED = 2_048  # bytes; larger options, of which a client may send thousands, must not stay in memory
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD")


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The options by which an execution is delivered. Those that only the database reads (``backoff``, ``priority``,
    ``ordering``, ``on_failure``, ``on_expired``) are checked and not kept. ``headers`` go with an HTTP call beside
    pgsched's own.

    Three spans, in seconds after the start of the execution (its nominal instant, or later by jitter), bound it; None
    is without bound. No attempt begins past ``relevant_for``: the execution expires instead. None begins again past
    ``max_retry_age``. All is over at ``deadline``, and the last attempt is cut short for it.

    It passes the limit of its client's ``limit_key``, if there is one. With ``deferred``, in seconds, an HTTP target
    may answer 202, and has so long to complete what it took. ``on_success`` is a target that is told of its success.
    ``auth`` says how a token for it is had, ``tls`` which certificate is shown. ``traceparent`` is of the caller's
    trace. With ``cloudevent`` it is one to HTTP and Kafka, and with ``body``
    what is sent there is not the payload's JSON. With ``keep_answer`` what an HTTP target answers is its
    result. With ``has_secrets`` a header, ``auth`` or ``tls`` names one.
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
    """Parses the options in a JSON object. An option that it does not have is taken from the first of ``defaults`` that
    has it, else from our own defaults. Headers are merged by name.

    Raises InvalidOptions, naming the key and what it may be, for an unknown key, a wrong type or a value
    out of range; InvalidTarget for one to be told that cannot be called.
    """
    if raw is not None and (len(raw) > _LONGEST_REMEMBERED or b'"traceparent"' in raw):  # none is like another
        return _parse_options.__wrapped__(raw, *defaults)
    return _parse_options(raw, *defaults)


@lru_cache(maxsize=4096)
def _parse_options(raw: bytes | None, *defaults: bytes) -> Options:
    given = _parsed(raw)
    for default in defaults:
        given = _merged(given, _parsed(default))
    if "cloudevent" in given and "headers" in given:  # each is named once, and by us
        given["headers"] = tuple(header for header in given["headers"] if header[0].lower() not in _OF_EVENTS)
    headers = given.get("headers", ())
    if "auth" in given and any(name.lower() == "authorization" for name, _ in headers):
        raise InvalidOptions("auth sets the header Authorization: leave that out of headers")
    has_secrets = "auth" in given or "tls" in given or any(isinstance(text, SecretRef) for _, text in headers)
    return Options(**{name: value for name, value in given.items() if name in _KEPT}, has_secrets=has_secrets)


def check_body(payload: bytes | None, options: bytes | None) -> None:
    """Raises InvalidPayload where no body can be made of a payload as its options say: no CHECK of the table asks that,
    for each statement would pay for it. Also raises what ``parse_options`` does."""
    if options is not None and payload is not None and b'"body"' in options:
        body = parse_options(options).body
        if body is not None:
            body.of(payload)


def parse_defaults(raw: bytes) -> Options:
    """Parses options that are defaults. Also raises InvalidOptions for options that only an execution may have."""
    if named := sorted(_object(raw).keys() & _OF_EACH):
        raise InvalidOptions(f"{named[0]} cannot be a default: give it with each execution or job")
    return parse_options(raw)


@lru_cache(maxsize=1024)
def without_spans(raw: bytes) -> bytes:
    """The same options without the limits on an execution's age."""
    return orjson.dumps({key: value for key, value in _object(raw).items() if key not in _SPANS})


def _parsed(raw: bytes | None) -> dict[str, Any]:
    given = {} if raw is None else _object(raw)
    parsed = {_FIELDS.get(key, key): _parser(key)(key, value) for key, value in given.items()}
    if isinstance(waits := given.get("backoff"), list):
        parsed.setdefault("max_attempts", len(waits) + 1)
    if both := sorted(parsed.get("retry_on", _NONE) & parsed.get("fail_on", _NONE)):
        raise InvalidOptions(f"retry_on and fail_on both name {both[0]}: leave it in one of them")
    return parsed


def _merged(given: dict[str, Any], default: dict[str, Any]) -> dict[str, Any]:
    """The given options, completed by the default."""
    merged = default | given
    names = {name.lower() for name, _ in given.get("headers", ())}
    if names:
        kept = tuple(header for header in default.get("headers", ()) if header[0].lower() not in names)
        merged["headers"] = kept + given["headers"]
    for codes, opposite in (("retry_on", "fail_on"), ("fail_on", "retry_on")):
        if codes in given and opposite in default and opposite not in given:
            merged[opposite] = default[opposite] - given[codes]
    return merged


def _object(raw: bytes) -> dict[str, Any]:
    if len(raw) > LONGEST_OPTIONS:
        raise InvalidOptions(f"options are over the limit of {LONGEST_OPTIONS} bytes: put the data into the payload")
    try:
        given = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        raise InvalidOptions(f'options are not JSON ({error}): write an object such as {{"timeout": "PT5S"}}') from None
    if not isinstance(given, dict):
        raise InvalidOptions('options must be a JSON object, such as {"timeout": "PT5S"}')
    return given


def _parser(key: str) -> Callable[[str, Any], Any]:
    parser = _PARSERS.get(key)
    if parser is None:
        raise InvalidOptions(f"there is no option {key!r}; the options are {', '.join(_PARSERS)}")
    return parser


def _seconds(low: float, high: float, span: str) -> Callable[[str, Any], float]:
    def parse(key: str, value: Any) -> float:
        wanted = f'{key} must be a duration from {span}, such as "PT5S" or "5s"'
        if not isinstance(value, str):
            raise InvalidOptions(f"{wanted}; it is {shown(value)}")
        try:
            seconds = parse_duration(value).total_seconds()
        except InvalidSchedule as error:
            raise InvalidOptions(f"{wanted}: {error}") from None
        if not low <= seconds <= high:
            raise InvalidOptions(f"{wanted}; it is {value!r}")
        return seconds

    return parse


def _number(low: float, high: float, *, whole: bool) -> Callable[[str, Any], float]:
    def parse(key: str, value: Any) -> float:
        fits = isinstance(value, int | float) and not isinstance(value, bool) and low <= value <= high
        if not fits or (whole and value != int(value)):
            kind = "whole number" if whole else "number"
            raise InvalidOptions(f"{key} must be a {kind} from {low:g} to {high:g}; it is {shown(value)}")
        return int(value) if whole else float(value)

    return parse


def _statuses(key: str, value: Any) -> frozenset[int]:
    number = _number(300, 599, whole=True)
    if not isinstance(value, list) or len(value) > 100:
        raise InvalidOptions(f"{key} must be a list of at most 100 status codes, such as [404]; it is {shown(value)}")
    return frozenset(int(number(f"each code of {key}", code)) for code in value)


def _backoff(key: str, value: Any) -> None:
    if isinstance(value, list):
        _check_waits(key, value)
        return
    if not isinstance(value, dict):
        raise InvalidOptions(
            f'{key} must be an object such as {{"initial": "1s", "factor": 2, "maximum": "1h"}}, '
            f'or a list of waits such as ["5s", "1m"]; it is {shown(value)}'
        )
    if unknown := sorted(value.keys() - _BACKOFF_PARSERS.keys()):
        raise InvalidOptions(f"there is no {key}.{unknown[0]}; {key} has {', '.join(_BACKOFF_PARSERS)}")
    parsed = {name: _BACKOFF_PARSERS[name](f"{key}.{name}", given) for name, given in value.items()}
    if "maximum" in parsed and parsed["maximum"] < parsed.get("initial", _FIRST_WAIT):
        raise InvalidOptions(f"{key}.maximum must not be shorter than {key}.initial")


def _check_waits(key: str, value: list[Any]) -> None:
    if not 1 <= len(value) <= _MOST_WAITS:
        raise InvalidOptions(f"{key} must list 1 to {_MOST_WAITS} waits; it lists {len(value)}")
    for wait in value:
        _wait(f"each wait of {key}", wait)


def _method(key: str, value: Any) -> str:
    if value not in METHODS:
        raise InvalidOptions(f"{key} must be one of {', '.join(METHODS)}; it is {shown(value)}")
    return str(value)


def _target(key: str, value: Any) -> str:
    if not isinstance(value, str):
        raise InvalidOptions(f"{key} must be a target, such as https://shop.example/told; it is {shown(value)}")
    return parse_target(value).text


def _limit_key(key: str, value: Any) -> str:
    if not isinstance(value, str) or not 1 <= len(value) <= 200:
        raise InvalidOptions(f"{key} must be text of 1 to 200 characters, such as merchant-42; it is {shown(value)}")
    return value


def _priority(key: str, value: Any) -> int:
    if isinstance(value, float):  # an index casts it to an integer, as it is written
        raise InvalidOptions(f"{key} must be a whole number from -100 to 100; it is {shown(value)}")
    return int(_number(-100, 100, whole=True)(key, value))


def _ordering(key: str, value: Any) -> str:
    if value not in ("continue", "block"):
        raise InvalidOptions(f"{key} must be continue or block; it is {shown(value)}")
    return str(value)


def _flag(key: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise InvalidOptions(f"{key} must be true or false; it is {shown(value)}")
    return value


_OF_EVENTS = frozenset(f"ce-{name}" for name in ATTRIBUTES)
_FIELDS = {"timeout": "timeout_seconds"}
_KEPT = frozenset(field.name for field in fields(Options))
_SPANS = frozenset({"relevant_for", "max_retry_age", "deadline"})
_OF_EACH = frozenset(
    {"on_success", "on_failure", "on_expired", "limit_key", "priority", "ordering", "deferred", "traceparent", "body"}
)
_NONE = frozenset[int]()
_MOST_WAITS = 100
_FIRST_WAIT = 1.0  # seconds, where ``backoff`` does not say it
_wait = _seconds(0.001, 604_800, "1 ms to 7 days")
_span = _seconds(0.1, LONGEST.total_seconds(), f"0.1 s to {LONGEST.days} days")
_PARSERS: dict[str, Callable[[str, Any], Any]] = {
    "timeout": _seconds(0.1, 86_400, "0.1 s to 24 h"),
    "max_attempts": _number(1, 1000, whole=True),
    "backoff": _backoff,
    "relevant_for": _span,
    "max_retry_age": _span,
    "deadline": _span,
    "method": _method,
    "headers": parse_headers,
    "auth": parse_auth,
    "tls": parse_tls,
    "retry_on": _statuses,
    "fail_on": _statuses,
    "on_success": _target,
    "on_failure": _target,
    "on_expired": _target,
    "limit_key": _limit_key,
    "priority": _priority,
    "ordering": _ordering,
    "deferred": _seconds(1, 2_592_000, "1 s to 30 days"),
    "traceparent": parse_traceparent,
    "cloudevent": parse_cloudevent,
    "keep_answer": _flag,
    "body": parse_body,
}
OPTIONS = tuple(_PARSERS)
"""The names of all options."""
_BACKOFF_PARSERS: dict[str, Callable[[str, Any], float]] = {
    "initial": _seconds(0.001, 86_400, "1 ms to 24 h"),
    "factor": _number(1, 100, whole=False),
    "maximum": _wait,
}
