"""Builds the parameters of ``pgsched.schedule``. Checks what SQL cannot: cron expressions, and text that PostgreSQL
cannot store.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from pgsched.domain.duration import length_of
from pgsched.domain.schedule import instant_of
from pgsched.domain.schedule_request import check_request
from pgsched.errors import InvalidInput, InvalidSchedule
from pgsched.store.core.text import check_no_bytes, check_text, encode

_TIMING = ("fire_at", "delay", "cron", "every", "timezone", "gap", "overlap")


@dataclass(frozen=True, slots=True, kw_only=True)
class When:
    """An instant or a recurrence, or the current time if all fields are None."""

    fire_at: datetime | None = None
    delay: timedelta | None = None
    cron: str | None = None
    every: timedelta | None = None
    timezone: str | None = None
    gap: str | None = None
    overlap: str | None = None

    @property
    def recurs(self) -> bool:
        return self.cron is not None or self.every is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleRequest:
    """The parameters of ``pgsched.schedule``; ``payload``, ``options``, ``rules`` and ``labels`` are JSON text.

    Raises InvalidInput for text that PostgreSQL cannot store.
    """

    target: str
    when: When = When()
    payload: str | None = None
    client: str = "default"
    key: str | None = None
    ordering_key: str | None = None
    queue: str = "default"
    options: str | None = None
    on_conflict: str = "replace"
    rules: str | None = None
    labels: str | None = None
    after: list[str] | None = None
    after_outcome: str = "success"

    def __post_init__(self) -> None:
        for name in ("target", "client", "key", "ordering_key", "queue", "on_conflict", "after_outcome"):
            check_text(name, getattr(self, name))
        for name in self.after or ():
            check_text("after", name)

    def parameters(self) -> dict[str, Any]:
        found = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "when"}
        return found | {field.name: getattr(self.when, field.name) for field in fields(self.when)}


def request_of(target: str, given: Mapping[str, Any]) -> ScheduleRequest:
    """Builds a request from keyword arguments: ``payload`` is JSON text; ``options``, ``rules`` and ``labels`` are
    mappings; None means not given. Raises the errors of ``ScheduleRequest`` and ``when``, and InvalidPayload if a value
    cannot be written as JSON.
    """
    found = {name: value for name, value in given.items() if value is not None}
    timing = {name: found.pop(name) for name in _TIMING if name in found}
    asked = when(**timing, rules=found.get("rules"))
    for name in ("options", "rules", "labels"):
        if name in found:
            value = found[name]
            check_no_bytes(name, value)
            found[name] = encode(dict(value) if isinstance(value, Mapping) else value, name).decode()
    return ScheduleRequest(target=target, when=asked, **found)


def when(
    *,
    fire_at: str | datetime | None = None,
    delay: str | timedelta | None = None,
    cron: str | None = None,
    every: str | timedelta | None = None,
    timezone: str | None = None,
    gap: str | None = None,
    overlap: str | None = None,
    rules: str | Mapping[str, Any] | None = None,
) -> When:
    """Builds a When from at most one of ``fire_at``, ``delay``, ``cron`` and ``every``; None means not given.

    Raises InvalidSchedule, which says what to write instead, if the arguments do not form a schedule.
    """
    for name, text in (("cron", cron), ("timezone", timezone)):
        check_text(name, text)
    check_request(
        fire_at=fire_at, delay=delay, cron=cron, every=every, timezone=timezone, gap=gap, overlap=overlap, rules=rules
    )
    return When(
        fire_at=None if fire_at is None else instant_of(fire_at, "fire_at"),
        delay=None if delay is None else length_of(delay, '"delay"'),
        cron=cron,
        every=None if every is None else length_of(every, '"every"'),
        timezone=timezone,
        gap=gap,
        overlap=overlap,
    )


def check_given(options: Mapping[str, Any]) -> None:
    """Raises InvalidSchedule if a time is None: a caller that failed to compute a time must not fire now."""
    for name in ("fire_at", "delay", "cron", "every"):
        if name in options and options[name] is None:
            raise InvalidSchedule(f'"{name}" is None: give a value, or leave it out to fire now')


def names_after(after: Sequence[UUID | str] | None) -> list[str] | None:
    """Returns the ids and keys of the executions to wait for, in the form in which they are sent. Raises InvalidInput
    unless ``after`` is a list of ids and keys.
    """
    if after is None:
        return None
    is_list = isinstance(after, Iterable) and not isinstance(after, str | bytes | Mapping)
    names = list(after) if is_list else []
    if not is_list or not all(isinstance(name, str | UUID) for name in names):
        raise InvalidInput(
            f'the argument "after" cannot be {after!r:.80}: write a list of ids and keys, such as after=[id]'
        )
    return [str(name) for name in names]
