"""Builds requests to the API and reads the responses, for both clients."""

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from types import NoneType
from typing import Any, Generic, Literal, TypeVar
from urllib.parse import quote
from uuid import UUID

import httpx
import msgspec
import orjson

from pgsched.client.trace import current_traceparent
from pgsched.domain.duration import format_duration
from pgsched.domain.id_or_key import as_key, id_or_key
from pgsched.domain.schedule import instant_of
from pgsched.errors import InvalidInput, PgschedError, Unavailable, all_errors
from pgsched.password_hiding import without_passwords
from pgsched.store.core.text import check_no_bytes, check_text, encode

_Answer = TypeVar("_Answer")
Id = UUID | str
"""The id or the key of a job or an execution. Put ``key:`` before a key that looks like an id."""
Instant = datetime | str
Length = timedelta | str
_KEY = re.compile("[!-~]+")
_IN_A_MOMENT = frozenset({429, 502, 503, 504})
_FIRST_PAUSE, _LONGEST_PAUSE = 0.2, 10.0


@dataclass(frozen=True, slots=True)
class Call(Generic[_Answer]):
    """One request, and the type to decode from the response, or from one ``field`` of the response."""

    method: Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
    path: str
    answer: type[_Answer]
    field: str | None = None
    query: Mapping[str, Any] | None = None
    body: Any = None
    timeout: float | None = None
    """Seconds to wait for the response. Set only if the response may take longer than the client's timeout."""
    repeatable: bool = False
    """True if the request is idempotent. A GET always is."""

    def send_by(self, client: httpx.Client | httpx.AsyncClient) -> httpx.Request:
        """Builds the request. Raises InvalidPayload if the body cannot be encoded as JSON."""
        body = None if self.body is None else encode(self.body, "the request")
        headers = {} if body is None else {"Content-Type": "application/json"}
        if trace := current_traceparent():
            headers["traceparent"] = trace
        timeout = client.timeout if self.timeout is None else self.timeout
        query = {name: _parameter(name, value) for name, value in present(self.query or {}).items()}
        return client.build_request(
            self.method, self.path, params=query, content=body, headers=headers, timeout=timeout
        )

    def pause(self, retries: int, number: int, response: httpx.Response | None = None) -> float | None:
        """Seconds to wait before a retry, or None if the request is not to be retried. Retry-After takes precedence.
        ``number`` counts tries from 0; ``response`` is None if no response arrived."""
        if number >= retries or not (self.repeatable or self.method == "GET"):
            return None
        asked: str | None = None
        if response is not None:
            if response.status_code not in _IN_A_MOMENT:
                return None
            asked = response.headers.get("retry-after")
        if asked is not None and asked.isascii() and asked.isdigit():
            return float(asked) if len(asked) < 3 and int(asked) <= _LONGEST_PAUSE else None
        return min(_FIRST_PAUSE * 2.0**number, _LONGEST_PAUSE) * random.uniform(0.5, 1.0)

    def read(self, response: httpx.Response) -> _Answer:
        """Decodes a response. If the response is a problem document, raises the error that it names."""
        if not response.is_success:
            raise _problem(response)
        if self.answer is NoneType:
            return None  # type: ignore[return-value]
        try:
            if self.field is None:
                return msgspec.json.decode(response.content, type=self.answer)
            fields = msgspec.json.decode(response.content, type=dict[str, msgspec.Raw])
            return msgspec.json.decode(fields[self.field], type=self.answer)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, KeyError) as error:
            raise PgschedError(f"the response from {response.url} is not from a pgsched API: {error}") from error

    def following(self, after: str) -> "Call[_Answer]":
        """The request for the next page."""
        return replace(self, query={**(self.query or {}), "after": after})


def path(*parts: str) -> str:
    """Builds an API path from parts, and quotes each. Raises InvalidInput if a part cannot be a name."""
    return "/v1/" + "/".join(map(_quoted, parts))


def _quoted(part: str) -> str:
    """Quotes a part so that no client or proxy reads it as two parts or as ``..``."""
    if not part:
        raise InvalidInput("a name must not be empty")
    check_text("a name", part)
    return quote(part, safe="") if part.strip(".") else part.replace(".", "%2E")


def identity(id: Id) -> str:
    """Formats an id for a path. Raises InvalidInput if it is not a UUID."""
    try:
        return str(id if isinstance(id, UUID) else UUID(id))
    except (ValueError, AttributeError, TypeError):
        raise InvalidInput(f"{str(id)[:80]!r} is not an id: give a UUID") from None


def named(id: Id) -> str:
    """Formats the id or key of a job or an execution for a path. Raises InvalidInput if it is neither."""
    if isinstance(id, UUID):
        return str(id)
    if not isinstance(id, str):
        raise InvalidInput(f"{id!r:.80} is neither an id nor a key: give a UUID, or the key as a string")
    found = id_or_key(id)
    return str(found) if isinstance(found, UUID) else as_key(found)


def body(given: Mapping[str, Any]) -> dict[str, Any]:
    """Converts keyword arguments to a request body: durations to ISO 8601, mappings to objects. Does not change the
    payload."""
    return {name: _in_body(name, value) for name, value in given.items()}


def _in_body(name: str, value: Any) -> Any:
    if name in ("payload", "result"):
        return orjson.Fragment(encode(value, name))
    check_no_bytes(name, value)
    if isinstance(value, timedelta):
        return format_duration(value)
    return dict(value) if isinstance(value, Mapping) else value


def between(given: Mapping[str, Any]) -> dict[str, Any]:
    """Renames ``start`` and ``end`` to the API's ``from`` and ``to``. Raises InvalidSchedule for an invalid instant."""
    named = dict(given)
    for name, sent in (("start", "from"), ("end", "to")):
        moment = named.pop(name, None)
        named |= {} if moment is None else {sent: instant_of(moment, name).isoformat()}
    return named


def as_label(given: Mapping[str, Any]) -> dict[str, Any]:
    """Renames ``labels`` to the API's ``label``."""
    return {"label" if name == "labels" else name: value for name, value in given.items()}


def present(given: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in given.items() if value is not None}


class WrongArgument(InvalidInput, TypeError):
    """An argument has the wrong type, or its name is misspelt."""


def check_names(given: Mapping[str, Any], known: Any) -> None:
    """Raises WrongArgument for a keyword argument that is not in the TypedDict ``known``."""
    for name in given.keys() - known.__annotations__.keys():
        there_are = ", ".join(known.__annotations__)
        raise WrongArgument(f"got an unexpected keyword argument {name!r}; the arguments are {there_are}")


def check_address(base_url: str) -> str:
    """Returns the address. Raises InvalidInput if the address is not a URL, or if it contains credentials, which would
    be sent instead of the key."""
    shown = without_passwords(repr(base_url))
    try:
        url = httpx.URL(base_url) if isinstance(base_url, str) else None
    except (httpx.InvalidURL, UnicodeError):
        url = None
    if url is None or url.scheme not in ("http", "https"):
        raise InvalidInput(f"{shown} is not the URL of an API: write one such as http://127.0.0.1:8080")
    if url.userinfo:
        raise InvalidInput(f"{shown} contains a login, which would be sent instead of the key: leave the login out")
    return base_url


def check_patience(timeout: float | None, retries: int) -> None:
    if timeout is not None and not (_is_number(timeout) and timeout > 0):
        raise InvalidInput(f"timeout cannot be {timeout!r:.80}: give seconds, such as 10, or None to wait forever")
    if not (_is_number(retries) and retries >= 0):
        raise InvalidInput(f"retries cannot be {retries!r:.80}: give 0 or a positive number, such as 2")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def headers_of(api_key: str | None) -> dict[str, str]:
    """The headers of every request: the API key, and a header that a form on another site cannot set."""
    if api_key is not None and not (isinstance(api_key, str) and _KEY.fullmatch(api_key)):
        raise InvalidInput("api_key is not a valid key: write what pgsched admin keys create printed")
    key = {} if api_key is None else {"Authorization": f"Bearer {api_key}"}
    return {"X-Requested-With": "pgsched"} | key


def unavailable(error: httpx.RequestError) -> Unavailable:
    """The error for a request that got no response."""
    address = error.request.url.copy_with(path="/", query=None)
    if "CERTIFICATE_VERIFY_FAILED" in str(error):
        return Unavailable(
            f"the certificate of the API at {address} is not trusted: set SSL_CERT_FILE to the certificate of the "
            f"authority that signed it, or use the host name that the certificate is for ({error})"
        )
    return Unavailable(f"the API at {address} cannot be reached: {error!r}")


def _parameter(name: str, value: Any) -> list[str]:
    check_no_bytes(name, value)
    if isinstance(value, Mapping):
        found = [_label(label, text) for label, text in value.items()]
    else:
        found = list(map(str, [value] if isinstance(value, str) or not isinstance(value, Sequence) else value))
    for text in found:
        check_text(name, text)
    return found


def _label(name: Any, text: Any) -> str:
    """Formats a label as ``NAME=TEXT``. Raises InvalidInput if the API would parse the result as a different label."""
    if not (isinstance(name, str) and isinstance(text, str) and name) or "=" in name:
        raise InvalidInput(
            f"the label {name!r:.80} cannot be {text!r:.80}: give a name without =, and a string as its value"
        )
    return f"{name}={text}"


class _Problem(msgspec.Struct, frozen=True):
    code: str
    detail: str


def _problem(response: httpx.Response) -> PgschedError:
    try:
        found = msgspec.json.decode(response.content, type=_Problem)
        return _BY_CODE[found.code](found.detail)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, KeyError):
        kind = Unavailable if response.status_code >= 500 else PgschedError
        return kind(f"{response.url} returned {response.status_code} without a pgsched problem document")


_BY_CODE = {kind.code: kind for kind in all_errors()}
