"""Jobs that an application or a file declares, as ``pgsched apply`` reads them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from datetime import timedelta
from typing import Any, TypedDict

from pgsched.domain.schedule_request import check_request
from pgsched.domain.target import parse_target
from pgsched.errors import InvalidInput, InvalidSchedule, PgschedError


class JobTerms(TypedDict, total=False):
    """The parts of a declared job, other than its schedule and target."""

    key: str
    client: str
    payload: Any
    options: Mapping[str, Any] | None
    rules: Mapping[str, Any] | None
    labels: Mapping[str, str] | None
    queue: str
    ordering_key: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredJob:
    """A declared job. None means the default.

    Raises InvalidInput if a field is missing or has the wrong type, InvalidTarget if the target is invalid, and
    InvalidSchedule if the parts do not form a schedule.
    """

    key: str
    target: str
    cron: str | None = None
    every: timedelta | str | None = None
    timezone: str | None = None
    gap: str | None = None
    overlap: str | None = None
    client: str = "default"
    payload: Any = None
    options: Mapping[str, Any] | None = None
    rules: Mapping[str, Any] | None = None
    labels: Mapping[str, str] | None = None
    queue: str = "default"
    ordering_key: str | None = None

    def __post_init__(self) -> None:
        for name in ("key", "target", "client", "queue"):
            if not isinstance(getattr(self, name), str) or not getattr(self, name):
                raise InvalidInput(f"{name} cannot be {getattr(self, name)!r:.80}: write a string")
        for kinds, wanted, names in _KINDS:
            for name in names:
                if not isinstance(value := getattr(self, name), kinds):
                    raise InvalidInput(f"{name} cannot be {value!r:.80}: write {wanted}")
        parse_target(self.target)
        if self.cron is None and self.every is None:
            raise InvalidSchedule('a declared job needs "cron" or "every": give one of them')
        parts: dict[str, Any] = {name: getattr(self, name) for name in _PARTS}
        check_request(**parts)

    def given(self) -> dict[str, Any]:
        """Returns the job's fields by name. None means the default."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


_KINDS = (
    (str | None, "a string", ("cron", "timezone", "gap", "overlap", "ordering_key")),
    (str | timedelta | None, "a duration such as 15m", ("every",)),
    (Mapping | None, "an object of names and values", ("options", "rules", "labels")),
)
_PARTS = ("cron", "every", "timezone", "gap", "overlap", "rules")


def checked(jobs: Iterable[DeclaredJob]) -> list[DeclaredJob]:
    """Returns the jobs as a list. Raises InvalidInput if two jobs of a client have the same key."""
    found: dict[tuple[str, str], DeclaredJob] = {}
    for job in jobs:
        if found.setdefault((job.client, job.key), job) is not job:
            raise InvalidInput(f"two jobs of client {job.client!r} are declared with the key {job.key!r}")
    return list(found.values())


def declared_in(tables: Any, where: str) -> list[DeclaredJob]:
    """Returns the jobs in a file's array ``jobs``. If a job is invalid, raises an error that names the job."""
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise InvalidInput(f'{where}: "jobs" must be an array of tables, with [[jobs]] above each')
    return [_declared(table, f"{where}: job {number}") for number, table in enumerate(tables, 1)]


def _declared(table: dict[str, Any], where: str) -> DeclaredJob:
    known = [field.name for field in fields(DeclaredJob)]
    if unknown := sorted(table.keys() - set(known)):
        raise InvalidInput(f"{where} has an unknown field {unknown[0]!r}; a job has {', '.join(known)}")
    if missing := sorted({"key", "target"} - table.keys()):
        raise InvalidInput(f"{where} has no {missing[0]}")
    try:
        return DeclaredJob(**table)
    except PgschedError as error:
        raise type(error)(f"{where} ({table['key']!r:.80}): {error}") from error
