"""What the filters of listings name, as forms and links send it."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from math import isfinite
from typing import Any

from pgsched.api.pages.content import same
from pgsched.api.pages.forms import cleared, id_in, label_lines
from pgsched.api.parameters import labels_in, with_its_plus
from pgsched.api.problems import Unreadable
from pgsched.domain.schedule import instant_of, read_instant
from pgsched.domain.states import STATUSES, each_once
from pgsched.domain.target import host_alone
from pgsched.errors import InvalidInput, InvalidSchedule
from pgsched.store.lookup.rows import DeadLetterFilter, ExecutionFilter

OF_EXECUTIONS = ("client", "queue", "host", "key", "job", "label", "from", "to")
OF_LETTERS = ("client", "host", "key", "job", "label", "reason", "status_code", "target", "from", "to")


def filled(given: Mapping[str, Any], names: Sequence[str]) -> dict[str, str]:
    """Those of the fields that are filled in."""
    return cleared(**{name: str(given.get(name) or "") for name in names})


def statuses_in(chosen: Sequence[str]) -> tuple[str, ...]:
    """The statuses that are ticked. Raises Unreadable."""
    if unknown := [one for one in chosen if one not in STATUSES]:
        raise Unreadable(f"status: {unknown[0][:50]!r} is none of {', '.join(STATUSES)}")
    return each_once(chosen)


def execution_filter(asked: Mapping[str, str], statuses: Sequence[str]) -> ExecutionFilter:
    """Raises Unreadable."""
    return ExecutionFilter(
        statuses=each_once(statuses),
        client=asked.get("client"),
        queue=asked.get("queue"),
        host=host_in(asked.get("host")),
        key=asked.get("key"),
        job=id_in("job", asked.get("job")),
        start=instant_in("from", asked.get("from")),
        end=instant_in("to", asked.get("to")),
        labels=labels_in(label_lines(asked.get("label"))),
    )


def letter_filter(asked: Mapping[str, str]) -> DeadLetterFilter:
    """Raises Unreadable."""
    return DeadLetterFilter(
        client=asked.get("client"),
        target=asked.get("target"),
        host=host_in(asked.get("host")),
        job=id_in("job", asked.get("job")),
        key=asked.get("key"),
        start=instant_in("from", asked.get("from")),
        end=instant_in("to", asked.get("to")),
        reason=asked.get("reason"),
        status_code=_code(asked.get("status_code")),
        labels=labels_in(label_lines(asked.get("label"))),
    )


def host_in(text: str | None) -> str | None:
    """A host, which is looked for without a port. Raises Unreadable where there is one."""
    try:
        return None if text is None else host_alone(text)
    except InvalidInput as error:
        raise Unreadable(f"host: {error}") from None


def instant_in(name: str, text: str | None) -> datetime | None:
    """An instant that somebody has written, in UTC where it has no offset. Raises Unreadable."""
    if not text:
        return None
    try:
        found = read_instant(with_its_plus(text.strip()))
        return instant_of(found if found.utcoffset() is not None else found.replace(tzinfo=UTC), name)
    except (ValueError, InvalidSchedule):
        raise Unreadable(f"{name}: {text[:50]!r} is no instant: write 2026-03-01T09:00, in UTC") from None


def number_in(name: str, text: str | None, otherwise: float) -> float:
    """A number that somebody has written. Raises Unreadable."""
    if not text:
        return otherwise
    with suppress(ValueError):
        if isfinite(found := float(text)):
            return found
    raise Unreadable(f"{name}: {text[:50]!r} is no number")


def changed_fields(form: Mapping[str, str], before: Mapping[str, str]) -> dict[str, str]:
    """The fields of a form that differ from what it was filled with."""
    given = {name: form[name] for name in before if name in form}
    return {name: text for name, text in given.items() if not same(text, before[name])}


def _code(text: str | None) -> int | None:
    if text is None:
        return None
    if not (len(text) == 3 and text.isascii() and text.isdigit() and 100 <= int(text) <= 599):
        raise Unreadable(f"status_code: {text[:50]!r} is no status from 100 to 599")
    return int(text)
