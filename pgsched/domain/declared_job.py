"""Jobs that an application or a file declares, as ``pgsched apply`` reads them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from datetime import timedelta
from typing import Any, TypedDict

from pgsched.domain.schedule_request import check_request
from pgsched.domain.target import parse_target
from pgsched.errors import InvalidInput, InvalidSchedule, PgschedError


class JobTerms(TypedDict, total=False):
    """What a declared job has beside its schedule and its target."""

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
    """A job as it shall be. What is None is the default.

    Raises InvalidInput without a key, InvalidTarget, and InvalidSchedule for what makes no schedule.
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
                raise InvalidInput(f"{name} is {getattr(self, name)!r:.80}: write text")
        for kinds, wanted, names in _KINDS:
            for name in names:
                if not isinstance(value := getattr(self, name), kinds):
                    raise InvalidInput(f"{name} is {value!r:.80}: write {wanted}")
        parse_target(self.target)
        if self.cron is None and self.every is None:
            raise InvalidSchedule("a declared job needs cron or every: give one of them")
        parts: dict[str, Any] = {name: getattr(self, name) for name in _PARTS}
        check_request(**parts)

    def given(self) -> dict[str, Any]:
        """What it has, by the names of its fields; None where it has the default."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


_KINDS = (
    (str | None, "text", ("cron", "timezone", "gap", "overlap", "ordering_key")),
    (str | timedelta | None, "a duration such as 15m", ("every",)),
    (Mapping | None, "names with a value each", ("options", "rules", "labels")),
)
_PARTS = ("cron", "every", "timezone", "gap", "overlap", "rules")


def checked(jobs: Iterable[DeclaredJob]) -> list[DeclaredJob]:
    """The jobs. Raises InvalidInput where two of them have one key."""
    found: dict[tuple[str, str], DeclaredJob] = {}
    for job in jobs:
        if found.setdefault((job.client, job.key), job) is not job:
            raise InvalidInput(f"two jobs of client {job.client!r} are declared with the key {job.key!r}")
    return list(found.values())


def declared_in(tables: Any, where: str) -> list[DeclaredJob]:
    """The jobs of the array ``jobs`` in a file. Raises InvalidInput, which says which of them is wrong."""
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise InvalidInput(f"{where}: jobs is no array of tables: write [[jobs]] above each")
    return [_declared(table, f"{where}: job {number}") for number, table in enumerate(tables, 1)]


def _declared(table: dict[str, Any], where: str) -> DeclaredJob:
    known = [field.name for field in fields(DeclaredJob)]
    if unknown := sorted(table.keys() - set(known)):
        raise InvalidInput(f"{where} has {unknown[0]!r}, which no job has; a job has {', '.join(known)}")
    if missing := sorted({"key", "target"} - table.keys()):
        raise InvalidInput(f"{where} has no {missing[0]}")
    try:
        return DeclaredJob(**table)
    except PgschedError as error:
        raise type(error)(f"{where} ({table['key']!r:.80}): {error}") from error
