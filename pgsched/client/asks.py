"""The API's routes as values, written once for both clients: what to send, and how to read what comes back."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Generic, TypedDict, TypeVar, Unpack
from uuid import UUID

import httpx
import msgspec
import orjson

from pgsched import errors
from pgsched.client.values import Changed, Execution, Job, Named, Page, Scheduled
from pgsched.domain.duration import format_duration
from pgsched.errors import InvalidInput, InvalidPayload, InvalidSchedule, PgschedError, Unavailable
from pgsched.store.schedule.order import When, check_given, names_after, when

_Answer = TypeVar("_Answer")
Id = UUID | str


class OrderOptions(TypedDict, total=False):
    """What ``schedule`` takes beside the target, each by its name.

    ``payload`` is anything JSON; of ``at`` (a datetime with an offset, or RFC 3339), ``delay`` (timedelta, ``PT10M`` or
    ``10m``), ``cron`` with ``timezone``, and ``every`` at most one. With none of them it fires now; none of them can be
    None. A second call under the same ``client`` and ``key`` replaces what still waits, unless ``on_conflict`` is
    ``keep``, ``reject`` or ``debounce``. With ``after``, ids or keys of executions, it waits until all of them have
    succeeded, or ended where ``after_outcome`` is ``any``.
    """

    payload: Any
    at: datetime | str
    delay: timedelta | str
    cron: str
    every: timedelta | str
    timezone: str | None
    client: str
    key: str | None
    ordering_key: str | None
    queue: str
    options: Mapping[str, Any] | None
    on_conflict: str
    rules: Mapping[str, Any] | None
    labels: Mapping[str, str] | None
    after: Sequence[Id] | None
    after_outcome: str


class JobOptions(OrderOptions, total=False):
    """``gap`` and ``overlap`` say what a cron expression does when the clocks change."""

    gap: str | None
    overlap: str | None


class JobGroup(TypedDict, total=False):
    """The jobs of a client, and those with all of these labels."""

    client: str | None
    labels: Mapping[str, str] | None


class JobFilter(JobGroup, total=False):
    state: str | None
    key: str | None


class ExecutionFilter(TypedDict, total=False):
    """``start`` and ``end`` bound scheduled_for: from start on, before end."""

    client: str | None
    status: str | None
    start: datetime | str | None
    end: datetime | str | None
    queue: str | None
    key: str | None
    job: Id | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask(Generic[_Answer]):
    """One request, and the type of its answer."""

    method: str
    path: str
    answer: type[_Answer]
    query: Mapping[str, str | list[str]] | None = None
    body: bytes | None = None
    timeout: float | None = None
    """Seconds, where an answer may take longer than the client's own time."""

    def send_by(self, client: httpx.Client | httpx.AsyncClient) -> httpx.Request:
        headers = {"Content-Type": "application/json"} if self.body is not None else {}
        timeout = client.timeout if self.timeout is None else self.timeout
        return client.build_request(
            self.method, self.path, params=self.query, content=self.body, headers=headers, timeout=timeout
        )

    def read(self, response: httpx.Response) -> _Answer:
        """The answer. Raises the error that a problem document names."""
        if not response.is_success:
            raise _problem(response)
        try:
            return msgspec.json.decode(response.content, type=self.answer)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise PgschedError(f"{response.url} answered what no API of pgsched does: {error}") from error


def schedule(target: str, **options: Unpack[JobOptions]) -> Ask[Scheduled]:
    check_given(options)
    return _schedule(target, **options)


def _schedule(
    target: str,
    *,
    payload: Any = None,
    at: datetime | str | None = None,
    delay: timedelta | str | None = None,
    cron: str | None = None,
    every: timedelta | str | None = None,
    timezone: str | None = None,
    gap: str | None = None,
    overlap: str | None = None,
    client: str | None = None,
    key: str | None = None,
    ordering_key: str | None = None,
    queue: str | None = None,
    options: Mapping[str, Any] | None = None,
    on_conflict: str | None = None,
    rules: Mapping[str, Any] | None = None,
    labels: Mapping[str, str] | None = None,
    after: Sequence[Id] | None = None,
    after_outcome: str | None = None,
) -> Ask[Scheduled]:
    asked = when(at=at, delay=delay, cron=cron, every=every, timezone=timezone, gap=gap, overlap=overlap, rules=rules)
    timing = _timing(asked) | {"gap": gap, "overlap": overlap}
    body = {
        "target": target,
        "schedule": present(timing),
        "payload": payload,
        "client": client,
        "key": key,
        "ordering_key": ordering_key,
        "queue": queue,
        "options": None if options is None else dict(options),
        "on_conflict": on_conflict,
        "rules": None if rules is None else dict(rules),
        "labels": None if labels is None else dict(labels),
        "after": names_after(after),
        "after_outcome": after_outcome,
    }
    return Ask(method="POST", path="/v1/jobs", answer=Scheduled, body=encode(present(body), "payload"))


def get_job(id: Id) -> Ask[Job]:
    return Ask(method="GET", path=f"/v1/jobs/{identity(id)}", answer=Job)


def list_jobs(*, limit: int, after: str | None, **wanted: Any) -> Ask[Page[Job]]:
    return Ask(method="GET", path="/v1/jobs", answer=Page[Job], query=query(limit=limit, after=after, **wanted))


def get_execution(id: Id) -> Ask[Execution]:
    return Ask(method="GET", path=f"/v1/executions/{identity(id)}", answer=Execution)


def list_executions(
    *, limit: int, after: str | None, start: Any = None, end: Any = None, **wanted: Any
) -> Ask[Page[Execution]]:
    asked = query(limit=limit, after=after, **wanted, **{"from": start, "to": end})
    return Ask(method="GET", path="/v1/executions", answer=Page[Execution], query=asked)


def cancel(id: Id, note: str | None) -> Ask[Changed]:
    return Ask(method="DELETE", path=f"/v1/jobs/{identity(id)}", answer=Changed, query=query(note=note))


def pause(job_id: Id, note: str | None) -> Ask[Changed]:
    body = encode({"note": note}, "note")
    return Ask(method="POST", path=f"/v1/jobs/{identity(job_id)}/pause", answer=Changed, body=body)


def resume(job_id: Id, note: str | None) -> Ask[Changed]:
    body = encode({"note": note}, "note")
    return Ask(method="POST", path=f"/v1/jobs/{identity(job_id)}/resume", answer=Changed, body=body)


def trigger(job_id: Id) -> Ask[Named]:
    return Ask(method="POST", path=f"/v1/jobs/{identity(job_id)}/trigger", answer=Named)


def reschedule(id: Id, fire_at: datetime | str) -> Ask[Named]:
    body = encode({"fire_at": _instant(when(at=fire_at).fire_at)}, "fire_at")
    return Ask(method="POST", path=f"/v1/executions/{identity(id)}/reschedule", answer=Named, body=body)


def encode(value: Any, name: str) -> bytes:
    """JSON. Raises InvalidPayload for what JSON has no word for."""
    try:
        return orjson.dumps(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidPayload(f"{name} cannot be written as JSON: {error}; give plain dicts, lists and values") from None


def identity(id: Id) -> UUID:
    try:
        return id if isinstance(id, UUID) else UUID(id)
    except (ValueError, AttributeError, TypeError):
        raise InvalidInput(f"{str(id)[:80]!r} is not an id: give a UUID") from None


def unavailable(error: httpx.RequestError) -> Unavailable:
    """What a request means that got no answer."""
    return Unavailable(f"the API at {error.request.url.copy_with(path='/', query=None)} cannot be reached: {error!r}")


def check_address(base_url: str) -> str:
    if not base_url.startswith(("http://", "https://")):
        raise InvalidInput(f"{base_url!r} is no address of an API: write one such as http://127.0.0.1:8080")
    return base_url


def _problem(response: httpx.Response) -> PgschedError:
    try:
        found = msgspec.json.decode(response.content, type=dict[str, Any])
        return _BY_CODE[found["code"]](found["detail"])
    except (msgspec.MsgspecError, UnicodeDecodeError, KeyError):
        kind = Unavailable if response.status_code >= 500 else PgschedError
        return kind(f"{response.url} answered {response.status_code} with no problem document of pgsched")


def _kinds(root: type[PgschedError]) -> dict[str, type[PgschedError]]:
    found = {root.code: root}
    for kind in root.__subclasses__():
        found |= _kinds(kind) if kind.__module__ == errors.__name__ else {}
    return found


_BY_CODE = _kinds(PgschedError)


def _timing(asked: When) -> dict[str, str | None]:
    return {
        "at": _instant(asked.fire_at) if asked.fire_at else None,
        "delay": format_duration(asked.delay) if asked.delay is not None else None,
        "cron": asked.cron,
        "every": format_duration(asked.every) if asked.every is not None else None,
        "timezone": asked.timezone,
    }


def _instant(moment: datetime | None) -> str:
    if moment is None:
        raise InvalidSchedule("the instant is missing: give a datetime with an offset")
    return moment.isoformat()


def query(*, labels: Mapping[str, str] | None = None, **given: Any) -> dict[str, str | list[str]]:
    """Parameters, without those that are None."""
    found: dict[str, str | list[str]] = {"label": [f"{name}={text}" for name, text in labels.items()]} if labels else {}
    for name, value in present(given).items():
        found[name] = value.isoformat() if isinstance(value, datetime) else str(value)
    return found


def present(found: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in found.items() if value is not None}
