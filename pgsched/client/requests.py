"""One request to the API and how its answer is read: the same for both clients."""

import random
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
from pgsched.domain.schedule import instant_of
from pgsched.errors import InvalidInput, PgschedError, Unavailable, all_errors
from pgsched.store.core.text import encode

_Answer = TypeVar("_Answer")
Id = UUID | str
Instant = datetime | str
Length = timedelta | str
LARGEST = 500
"""Items of the pages that are read where all are asked for."""
_IN_A_MOMENT = frozenset({429, 502, 503, 504})
_FIRST_PAUSE, _LONGEST_PAUSE = 0.2, 10.0


@dataclass(frozen=True, slots=True)
class Call(Generic[_Answer]):
    """One request, and the type of its answer: of the whole, or of one ``field`` of it."""

    method: Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
    path: str
    answer: type[_Answer]
    field: str | None = None
    query: Mapping[str, Any] | None = None
    body: Any = None
    timeout: float | None = None
    """Seconds, where an answer may take longer than the client's own time."""
    repeatable: bool = False
    """Whether it comes to the same when it is sent twice. What only reads does."""

    def send_by(self, client: httpx.Client | httpx.AsyncClient) -> httpx.Request:
        """Raises InvalidPayload for what JSON has no word for."""
        body = None if self.body is None else encode(self.body, "the request")
        headers = {} if body is None else {"Content-Type": "application/json"}
        if trace := current_traceparent():
            headers["traceparent"] = trace
        timeout = client.timeout if self.timeout is None else self.timeout
        query = {name: _parameter(value) for name, value in present(self.query or {}).items()}
        return client.build_request(
            self.method, self.path, params=query, content=body, headers=headers, timeout=timeout
        )

    def pause(self, retries: int, number: int, response: httpx.Response | None = None) -> float | None:
        """How many seconds after the try of this number (from 0) to send it again; None if its answer, or that there is
        none, is final. The server's own word counts."""
        if number >= retries or not (self.repeatable or self.method == "GET"):
            return None
        asked: str | None = None
        if response is not None:
            if response.status_code not in _IN_A_MOMENT:
                return None
            asked = response.headers.get("retry-after")
        if asked is not None and asked.isdecimal():
            return float(asked) if len(asked) < 3 and int(asked) <= _LONGEST_PAUSE else None
        return min(_FIRST_PAUSE * 2.0**number, _LONGEST_PAUSE) * random.uniform(0.5, 1.0)

    def read(self, response: httpx.Response) -> _Answer:
        """The answer. Raises the error that a problem document names."""
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
            raise PgschedError(f"{response.url} answered as no API of pgsched does: {error}") from error

    def following(self, after: str) -> "Call[_Answer]":
        """The same for the next page."""
        return replace(self, query={**(self.query or {}), "after": after})


def path(*parts: str) -> str:
    """A path of the API, each part quoted."""
    return "/v1/" + "/".join(quote(part, safe="") for part in parts)


def identity(id: Id) -> str:
    """An id as it stands in a path. Raises InvalidInput for what is none."""
    try:
        return str(id if isinstance(id, UUID) else UUID(id))
    except (ValueError, AttributeError, TypeError):
        raise InvalidInput(f"{str(id)[:80]!r} is not an id: give a UUID") from None


def body(given: Mapping[str, Any]) -> dict[str, Any]:
    """Keyword arguments as a body has them: lengths in ISO 8601, mappings as objects, a payload just as it is."""
    return {name: _in_body(name, value) for name, value in given.items()}


def _in_body(name: str, value: Any) -> Any:
    if name in ("payload", "result"):
        return orjson.Fragment(encode(value, name))
    if isinstance(value, timedelta):
        return format_duration(value)
    return dict(value) if isinstance(value, Mapping) else value


def between(given: Mapping[str, Any]) -> dict[str, Any]:
    """Keyword arguments with ``start`` and ``end`` by the names that the API has for them. Raises InvalidSchedule."""
    named = dict(given)
    for name, sent in (("start", "from"), ("end", "to")):
        moment = named.pop(name, None)
        named |= {} if moment is None else {sent: instant_of(moment, name).isoformat()}
    return named


def as_label(given: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters with ``labels`` by the name that the API has for one."""
    return {"label" if name == "labels" else name: value for name, value in given.items()}


def present(given: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in given.items() if value is not None}


def check_names(given: Mapping[str, Any], known: Any) -> None:
    """Raises TypeError for a keyword argument that a TypedDict has not."""
    for name in given.keys() - known.__annotations__.keys():
        raise TypeError(f"got an unexpected keyword argument {name!r}; there are {', '.join(known.__annotations__)}")


def check_address(base_url: str) -> str:
    if not base_url.startswith(("http://", "https://")):
        raise InvalidInput(f"{base_url!r} is not the address of an API: write one such as http://127.0.0.1:8080")
    return base_url


def headers_of(api_key: str | None) -> dict[str, str]:
    """What every request has of the key, and that no page of another site has sent it."""
    key = {} if api_key is None else {"Authorization": f"Bearer {api_key}"}
    return {"X-Requested-With": "pgsched"} | key


def unavailable(error: httpx.RequestError) -> Unavailable:
    """The error for a request without an answer."""
    return Unavailable(f"the API at {error.request.url.copy_with(path='/', query=None)} cannot be reached: {error!r}")


def _parameter(value: Any) -> str | list[str]:
    if isinstance(value, Mapping):
        return [f"{name}={text}" for name, text in value.items()]
    return str(value) if isinstance(value, str) or not isinstance(value, Sequence) else list(map(str, value))


class _Problem(msgspec.Struct, frozen=True):
    code: str
    detail: str


def _problem(response: httpx.Response) -> PgschedError:
    try:
        found = msgspec.json.decode(response.content, type=_Problem)
        return _BY_CODE[found.code](found.detail)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, KeyError):
        kind = Unavailable if response.status_code >= 500 else PgschedError
        return kind(f"{response.url} answered {response.status_code} with no problem document of pgsched")


_BY_CODE = {kind.code: kind for kind in all_errors()}
