"""Job methods, shared by both clients: schedule, look up, edit, pause, resume and cancel."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, TypedDict, Unpack
from uuid import UUID

from pgsched.api_responses import Job, JobDetail, Page, Scheduled
from pgsched.client.requests import (
    Call,
    Id,
    Instant,
    as_label,
    body,
    check_names,
    named,
    path,
    present,
)
from pgsched.client.sync_async_methods import method, pages
from pgsched.domain.schedule import Fire
from pgsched.domain.states import Sort
from pgsched.store.lookup.row_types import EditPreview
from pgsched.store.schedule.schedule_parameters import check_given, names_after

_TIMING = ("fire_at", "delay", "cron", "every", "timezone", "gap", "overlap", "anchor")


class Recurring(TypedDict, total=False):
    """The schedule of a job, and the options of its executions. ``gap`` and ``overlap`` say what a cron expression does
    when the clocks change."""

    cron: str
    every: timedelta | str
    timezone: str | None
    gap: str | None
    overlap: str | None
    options: Mapping[str, Any] | None
    rules: Mapping[str, Any] | None
    labels: Mapping[str, str] | None
    ordering_key: str | None
    queue: str
    payload: Any


class ScheduleOptions(Recurring, total=False):
    """The options of ``schedule``.

    ``payload`` is any JSON value. Give at most one of ``fire_at`` (a datetime with an offset, or an RFC 3339 string),
    ``delay`` (a timedelta, ``PT10M`` or ``10m``), ``cron`` (with ``timezone``) and ``every``. These four arguments
    cannot be None; if all are omitted, the execution is due now.

    A second call with the same ``client`` and ``key`` replaces the waiting execution, unless ``on_conflict`` is
    ``keep``, ``reject`` or ``debounce``. ``after`` lists executions, by id or key, that must succeed first; if
    ``after_outcome`` is ``any``, they need only end.
    """

    fire_at: datetime | str
    delay: timedelta | str
    client: str
    key: str | None
    on_conflict: str
    after: Sequence[Id] | None
    after_outcome: str


class JobQuery(TypedDict, total=False):
    """Filters for jobs. ``last_outcomes`` (at most 10) is the number of past outcomes included with each job."""

    client: str | None
    labels: Mapping[str, str] | None
    state: str | None
    key: str | None
    host: str | None
    last_outcomes: int


class JobChanges(Recurring, total=False):
    """The changes that ``edit`` makes. Omitted fields stay unchanged. None removes a field, or restores its default.

    ``cron`` replaces ``every``, and vice versa. ``payload``, ``options``, ``rules`` and ``labels`` are each replaced as
    a whole.
    """

    target: str
    anchor: datetime | str | None


class PreviewOptions(TypedDict, total=False):
    """A schedule to preview. ``client`` and ``key`` are those of the intended job; ``H`` in ``cron`` depends on
    them."""

    fire_at: datetime | str | None
    cron: str | None
    every: timedelta | str | None
    timezone: str | None
    gap: str | None
    overlap: str | None
    rules: Mapping[str, Any] | None
    client: str
    key: str | None


class JobMethods:
    """Job methods, shared by both clients."""

    @method
    def schedule(self, target: str, **options: Unpack[ScheduleOptions]) -> Call[Scheduled]:
        """Schedules an execution or, given ``cron`` or ``every``, a job. The change is committed before the method
        returns."""
        check_names(options, ScheduleOptions)
        check_given(options)
        given = present({**options, "target": target, "after": names_after(options.get("after"))})
        repeatable = given.get("key") is not None and given.get("on_conflict") != "reject"
        return Call("POST", path("jobs"), Scheduled, body=_body(given), repeatable=repeatable)

    @method
    def get_job(self, job_id: Id, *, client: str | None = None) -> Call[JobDetail]:
        """A job and its next instant."""
        return Call("GET", _job(job_id), JobDetail, query={"client": client})

    @method
    def list_jobs(
        self, *, sort: Sort = "newest", limit: int = 50, after: str | None = None, **wanted: Unpack[JobQuery]
    ) -> Call[Page[Job]]:
        """One page of jobs."""
        check_names(wanted, JobQuery)
        asked = as_label(wanted) | {"sort": sort, "limit": limit, "after": after}
        return Call("GET", path("jobs"), Page[Job], query=asked)

    iter_jobs = pages(list_jobs)

    @method
    def cancel(self, id: Id, *, client: str | None = None, note: str | None = None) -> Call[bool]:
        """Cancels a job, or a waiting or running execution. Returns False if it had already ended."""
        return Call("DELETE", _job(id), bool, "changed", query={"client": client, "note": note})

    @method
    def pause(self, job_id: Id, *, client: str | None = None, note: str | None = None) -> Call[bool]:
        """Pauses a job: no runs are planned until it is resumed. Returns False if it was already paused."""
        query = {"client": client}
        return Call("POST", _job(job_id, "pause"), bool, "changed", query=query, body={"note": note})

    @method
    def resume(self, job_id: Id, *, client: str | None = None, note: str | None = None) -> Call[bool]:
        """Resumes a paused job from its next instant. Returns False if it was not paused."""
        query = {"client": client}
        return Call("POST", _job(job_id, "resume"), bool, "changed", query=query, body={"note": note})

    @method
    def edit(
        self, job_id: Id, *, client: str | None = None, force: bool = False, **changed: Unpack[JobChanges]
    ) -> Call[JobDetail]:
        """Changes the given fields of a job and of its waiting execution, but not of a running execution. A job
        declared by an application or a file can be edited only with ``force``."""
        check_names(changed, JobChanges)
        query = {"client": client, "force": "true" if force else None}
        return Call("PATCH", _job(job_id), JobDetail, query=query, body=_body(changed))

    @method
    def preview(
        self,
        job_id: Id,
        *,
        client: str | None = None,
        count: int = 5,
        start: Instant | None = None,
        **changed: Unpack[JobChanges],
    ) -> Call[EditPreview]:
        """Previews an edit: when the job fires now, and when the edited job would fire. ``start`` defaults to now."""
        check_names(changed, JobChanges)
        asked = _body(changed) | present({"count": count, "from": start})
        return Call("POST", _job(job_id, "preview"), EditPreview, query={"client": client}, body=asked)

    @method
    def preview_schedule(
        self, *, count: int = 5, start: Instant | None = None, **spec: Unpack[PreviewOptions]
    ) -> Call[list[Fire]]:
        """Previews a schedule that does not belong to a job."""
        check_names(spec, PreviewOptions)
        asked = {"schedule": {}} | _body(present(spec)) | present({"count": count, "from": start})
        return Call("POST", path("preview"), list[Fire], "next", body=asked)

    @method
    def trigger(self, job_id: Id, *, client: str | None = None) -> Call[UUID]:
        """Runs a job now, in addition to its schedule, and returns the execution's id."""
        return Call("POST", _job(job_id, "trigger"), UUID, "id", query={"client": client})


def _job(id: Id, *verb: str) -> str:
    return path("jobs", named(id), *verb)


def _body(given: Mapping[str, Any]) -> dict[str, Any]:
    """Converts keyword arguments to a request body, with the timing in a nested ``schedule`` object."""
    found = body(given)
    timing = {name: found.pop(name) for name in _TIMING if name in found}
    return found | {"schedule": timing} if timing else found
