"""Requests that change one job or many: edits, their previews, and verbs for a group of jobs."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Literal, TypedDict

from pgsched.client.asks import Ask, Id, encode, identity, present, query
from pgsched.client.values import ChangedMany, EditPreview, Job, Preview
from pgsched.domain.duration import format_duration

_TIMING = ("cron", "every", "timezone", "gap", "overlap", "anchor")


class JobChanges(TypedDict, total=False):
    """What ``edit`` changes of a job, each by its name. What is left out stays; None takes away, or is the default.

    ``cron`` takes the place of ``every``, and the reverse; what is given of ``payload``, ``options``, ``rules`` and
    ``labels`` takes the place of all that was there.
    """

    target: str
    payload: Any
    cron: str
    every: timedelta | str
    timezone: str | None
    gap: str | None
    overlap: str | None
    anchor: datetime | str | None
    options: Mapping[str, Any] | None
    rules: Mapping[str, Any] | None
    labels: Mapping[str, str] | None
    queue: str
    ordering_key: str | None


class Spec(TypedDict, total=False):
    """A schedule to look at. ``client`` and ``key`` are those of the job it is meant for: ``H`` is drawn from them."""

    at: datetime | str | None
    cron: str | None
    every: timedelta | str | None
    timezone: str | None
    gap: str | None
    overlap: str | None
    rules: Mapping[str, Any] | None
    client: str
    key: str | None


def edit(job_id: Id, changes: Mapping[str, Any]) -> Ask[Job]:
    body = encode(_body(changes), "what is to be changed")
    return Ask(method="PATCH", path=f"/v1/jobs/{identity(job_id)}", answer=Job, body=body)


def preview(job_id: Id, count: int, start: datetime | str | None, changes: Mapping[str, Any]) -> Ask[EditPreview]:
    body = encode(_body(changes) | _extent(count, start), "what is to be changed")
    return Ask(method="POST", path=f"/v1/jobs/{identity(job_id)}/preview", answer=EditPreview, body=body)


def preview_schedule(count: int, start: datetime | str | None, spec: Mapping[str, Any]) -> Ask[Preview]:
    _check_names(spec, Spec)
    given = present(spec)
    whose: dict[str, Any] = {name: given.pop(name) for name in ("rules", "client", "key") if name in given}
    body = {"schedule": _readable(given), **_plain(whose), **_extent(count, start)}
    return Ask(method="POST", path="/v1/preview", answer=Preview, body=encode(body, "the schedule"))


def change_all(verb: Literal["pause", "resume"], note: str | None, group: Mapping[str, Any]) -> Ask[ChangedMany]:
    body = encode({"note": note}, "note")
    return Ask(method="POST", path=f"/v1/jobs/{verb}", answer=ChangedMany, query=_group(**group), body=body)


def cancel_all(note: str | None, group: Mapping[str, Any]) -> Ask[ChangedMany]:
    asked = _group(**group) | query(note=note)
    return Ask(method="DELETE", path="/v1/jobs", answer=ChangedMany, query=asked)


def _body(changes: Mapping[str, Any]) -> dict[str, Any]:
    """The body of an edit: what has to do with the schedule in an object of its own."""
    _check_names(changes, JobChanges)
    found = _plain(changes)
    timing = {name: found.pop(name) for name in _TIMING if name in found}
    return found | {"schedule": _readable(timing)} if timing else found


def _plain(given: Mapping[str, Any]) -> dict[str, Any]:
    objects = ("options", "rules", "labels")
    return {name: dict(value) if name in objects and value is not None else value for name, value in given.items()}


def _readable(timing: Mapping[str, Any]) -> dict[str, Any]:
    found = dict(timing)
    if isinstance(every := found.get("every"), timedelta):
        found["every"] = format_duration(every)
    for name in ("at", "anchor"):
        if isinstance(instant := found.get(name), datetime):
            found[name] = instant.isoformat()
    return found


def _extent(count: int, start: datetime | str | None) -> dict[str, Any]:
    return present({"count": count, "from": start.isoformat() if isinstance(start, datetime) else start})


def _group(*, client: str | None = None, labels: Mapping[str, str] | None = None) -> dict[str, str | list[str]]:
    return query(client=client, labels=labels)


def _check_names(given: Mapping[str, Any], known: Any) -> None:
    for name in given.keys() - known.__annotations__.keys():
        raise TypeError(f"got an unexpected keyword argument {name!r}; there are {', '.join(known.__annotations__)}")
