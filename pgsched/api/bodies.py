"""The bodies of requests. They are read strictly, so that a misspelt name is an error and not a default."""

from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType

from pgsched.domain.policy import OPTIONS

Instant = Annotated[str, Meta(description="RFC 3339, with an offset.", examples=["2026-03-01T09:00:00+01:00"])]
Duration = Annotated[str, Meta(description="ISO 8601 (PT1H30M, P1D) or short (1h30m, 90s, 250ms).", examples=["PT10M"])]


class Timing(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One of fire_at, delay, cron and every; with none of them it fires now. None of the four can be null: what was
    to be computed, and was not, would fire now.
    """

    fire_at: Instant | UnsetType = UNSET
    delay: Duration | UnsetType = UNSET
    cron: (
        Annotated[str, Meta(description="Five fields, six with seconds first, or a nickname such as @daily.")]
        | UnsetType
    ) = UNSET
    timezone: Annotated[str, Meta(description="IANA name, with cron only; UTC when left out.")] | None = None
    gap: Annotated[str, Meta(description="shift or skip: times of day that a clock change skips.")] | None = None
    overlap: (
        Annotated[str, Meta(description="first, second or both: times of day that a clock change repeats.")] | None
    ) = None
    every: Duration | UnsetType = UNSET

    def given(self) -> dict[str, str]:
        """The parts that were given, by name."""
        parts = {name: getattr(self, name) for name in Timing.__struct_fields__}
        return {name: part for name, part in parts.items() if part is not None and part is not UNSET}


class CreateJob(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The target to call, and its schedule."""

    target: Annotated[str, Meta(description="https://host/path, python:name, sql:schema.function, notify:channel, …")]
    schedule: Timing = Timing()
    payload: Annotated[
        msgspec.Raw | UnsetType, Meta(description="Any JSON, up to 1 MiB; it is stored digit for digit.")
    ] = UNSET
    client: Annotated[str, Meta(min_length=1, max_length=100)] = "default"
    key: Annotated[str, Meta(min_length=1, max_length=200, description="Unique per client.")] | None = None
    ordering_key: Annotated[str, Meta(min_length=1, max_length=200)] | None = None
    queue: Annotated[str, Meta(min_length=1, max_length=63)] = "default"
    options: (
        Annotated[
            dict[str, Any],
            Meta(description=f"{', '.join(OPTIONS)}."),
        ]
        | None
    ) = None
    rules: (
        Annotated[
            Any,
            Meta(
                extra_json_schema={"type": "object"},
                description="How a job recurs: also, exclude, starts_at, ends_at, max_runs, jitter, window, anchor, "
                "after_completion, on_overlap, on_missed, catch_up, pause_after, delete_after, after.",
            ),
        ]
        | None
    ) = None
    labels: Annotated[dict[str, str], Meta(description="Labels to find it by, in addition to the key.")] | None = None
    after: Annotated[list[str], Meta(description="Ids or keys of executions to wait for.")] | None = None
    after_outcome: Annotated[str, Meta(description="success: all of them must succeed; any: they must end.")] = (
        "success"
    )
    on_conflict: Annotated[
        str, Meta(description="If the key is in use: replace, keep, reject or debounce.", examples=["keep"])
    ] = "replace"


class Note(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Why it is done: the reason of a paused job, and for the audit log."""

    note: Annotated[str, Meta(max_length=1000)] | None = None


class Retiming(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Fields that are left out stay as they are; cron replaces every, and the reverse; null sets the default."""

    cron: Annotated[str, Meta(description="Five fields, six with seconds first, or @daily.")] | UnsetType = UNSET
    every: Duration | UnsetType = UNSET
    timezone: str | UnsetType | None = UNSET
    gap: Annotated[str, Meta(description="shift or skip.")] | UnsetType | None = UNSET
    overlap: Annotated[str, Meta(description="first, second or both.")] | UnsetType | None = UNSET
    anchor: (
        Annotated[str, Meta(description="The instant that every starts from, with an offset.")] | UnsetType | None
    ) = UNSET


class EditJob(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The changes. Fields that are left out stay as they are, null removes one; payload, options, rules and labels are
    replaced as a whole.
    """

    target: str | UnsetType = UNSET
    schedule: Retiming | UnsetType = UNSET
    payload: msgspec.Raw | UnsetType = UNSET
    options: dict[str, Any] | UnsetType | None = UNSET
    rules: dict[str, Any] | UnsetType | None = UNSET
    labels: dict[str, str] | UnsetType | None = UNSET
    queue: Annotated[str, Meta(min_length=1, max_length=63)] | UnsetType = UNSET
    ordering_key: Annotated[str, Meta(min_length=1, max_length=200)] | UnsetType | None = UNSET

    def changes(self) -> dict[str, Any]:
        """By the names that ``pgsched.edit`` has for them."""
        names = (name for name in EditJob.__struct_fields__ if name != "schedule")
        given = {name: getattr(self, name) for name in names}
        if not isinstance(self.schedule, UnsetType):
            given |= {name: getattr(self.schedule, name) for name in Retiming.__struct_fields__}
        return {name: value for name, value in given.items() if value is not UNSET}


Count = Annotated[int, Meta(ge=1, le=100, description="Number of instants.")]


class PreviewEdit(EditJob, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An edit, and how many instants later than from are shown; from is now where it is left out."""

    count: Count = 5
    start: Instant | None = msgspec.field(name="from", default=None)


class Spec(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One of fire_at, cron and every."""

    fire_at: Instant | None = None
    cron: str | None = None
    timezone: str | None = None
    gap: str | None = None
    overlap: str | None = None
    every: Duration | None = None


class PreviewSpec(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A schedule that is no job yet. client and key are those of the job it is meant for: H is drawn from them."""

    schedule: Spec
    rules: dict[str, Any] | None = None
    client: Annotated[str, Meta(min_length=1, max_length=100)] | None = None
    key: Annotated[str, Meta(min_length=1, max_length=200)] | None = None
    count: Count = 5
    start: Instant | None = msgspec.field(name="from", default=None)
