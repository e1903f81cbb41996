"""The bodies of requests. They are read strictly, so that a misspelt name is an error and not a default."""

import re
from functools import cache
from typing import Annotated, Any, get_args

import msgspec
from litestar import Request
from litestar.params import QueryParameter
from litestar.typing import FieldDefinition
from litestar.utils.typing import make_non_optional_union
from msgspec import UNSET, Meta, UnsetType

from pgsched.api.access import check_clients, grant_of
from pgsched.api.problems import Fault, Unreadable, parameters_of
from pgsched.domain.policy import OPTIONS

_PATH = re.compile(r"^(?P<what>.*) - at `\$(?P<path>.*)`$", re.DOTALL)
_STEP = re.compile(r"\.(\w+)|\[(\d+|\.\.\.)\]")

Instant = Annotated[str, Meta(description="RFC 3339, with an offset.", examples=["2026-03-01T09:00:00+01:00"])]
Duration = Annotated[str, Meta(description="ISO 8601 (PT1H30M, P1D) or short (1h30m, 90s, 250ms).", examples=["PT10M"])]


class Timing(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One of at, delay, cron and every; with none of them it fires now. None of the four can be null: what was to be
    computed, and was not, would fire now.
    """

    at: Instant | UnsetType = UNSET
    delay: Duration | UnsetType = UNSET
    cron: (
        Annotated[str, Meta(description="Five fields, six with seconds first, or @daily and its like.")] | UnsetType
    ) = UNSET
    timezone: Annotated[str, Meta(description="IANA name, with cron only; UTC when left out.")] | None = None
    gap: Annotated[str, Meta(description="shift or skip: times of day that the clocks skip.")] | None = None
    overlap: Annotated[str, Meta(description="first, second or both: times of day that happen twice.")] | None = None
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
    labels: Annotated[dict[str, str], Meta(description="Labels by which it is found, beside the key.")] | None = None
    after: Annotated[list[str], Meta(description="Ids or keys of executions to wait for.")] | None = None
    after_outcome: Annotated[str, Meta(description="success: all of them must succeed; any: they must end.")] = (
        "success"
    )
    on_conflict: Annotated[
        str, Meta(description="Where the key is taken: replace, keep, reject or debounce.", examples=["keep"])
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
        Annotated[str, Meta(description="The instant from which every counts, with an offset.")] | UnsetType | None
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


Count = Annotated[int, Meta(ge=1, le=100, description="How many instants.")]


class PreviewEdit(EditJob, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An edit, and how many instants later than from are shown; from is now where it is left out."""

    count: Count = 5
    start: Instant | None = msgspec.field(name="from", default=None)


class Spec(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One of at, cron and every."""

    at: Instant | None = None
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


class Reschedule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The new instant of the execution."""

    fire_at: Instant


_ClientName = Annotated[str, Meta(min_length=1, max_length=100)]
_KeyName = Annotated[str, Meta(min_length=1, max_length=200)]


class CancelByKey(Note, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a client has under a key, and why it is cancelled."""

    key: _KeyName
    client: _ClientName = "default"


class RescheduleByKey(Reschedule, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a client has under a key, and its new instant."""

    key: _KeyName
    client: _ClientName = "default"


class ApiRequest(Request[Any, Any, Any]):
    """Reads bodies into the type that the route asks for."""

    def check_type(self, wanted: str) -> None:
        """Raises Unreadable unless the body is of this type."""
        media_type = self.headers.get("content-type", "").partition(";")[0].strip().lower()
        if media_type != wanted:
            sent = f"it says {media_type[:80]!r}" if media_type else "there is none"
            raise Unreadable(f"send the header Content-Type: {wanted}; {sent}", status=415)

    async def json(self) -> Any:
        self.check_type("application/json")
        found = read_body(await self.body(), _expected(self.route_handler.parsed_data_field))
        check_clients(
            grant_of(self), [getattr(part, "client", None) for part in (found, getattr(found, "filter", None))]
        )
        return found


def _expected(field: FieldDefinition | None) -> Any:
    """What a body is, where there is one: ``null`` is none that may be left out."""
    if field is None:
        return Any
    return make_non_optional_union(field.annotation) if field.is_optional else field.annotation


def read_body(body: bytes, expected: Any) -> Any:
    """The body as ``expected``. Raises Unreadable, with the place and what to write there."""
    try:
        body.decode("utf-8")
        return _decoder(expected).decode(body)
    except msgspec.ValidationError as error:
        raise _misfit(str(error), expected) from None
    except RecursionError:
        raise Unreadable("the body is nested too deeply: write fewer levels of lists and objects") from None
    except UnicodeDecodeError:
        raise Unreadable("the body is not UTF-8: encode it so") from None
    except msgspec.DecodeError as error:
        raise Unreadable(f"the body is not JSON: {error}; write it as RFC 8259 has it") from None


async def check_request(request: Request[Any, Any, Any]) -> None:
    """Refuses what would otherwise be ignored: parameters nobody knows or that come twice, and a body not asked for;
    and clients that the key is not for."""
    await check_parameters(request)
    await _check_body(request)


async def check_parameters(request: Request[Any, Any, Any]) -> None:
    """The same for a route that reads its body by itself."""
    check_clients(grant_of(request), [request.path_params.get("client"), *request.query_params.getall("client", [])])
    known, texts = _query_names(request.route_handler)
    seen: set[str] = set()
    for name, value in request.query_params.multi_items():
        status, detail = 400, None
        if name not in known:
            choice = f"the parameters are {', '.join(sorted(known))}" if known else "there are none here"
            detail = f"unknown parameter: {choice}"
        elif name in seen and not known[name]:
            detail = "given twice: give it once"
        elif value == "" or (value.lower() == "null" and name not in texts):
            # A variable without a value was hardly meant to ask for all.
            detail = "there is no value: give one, or leave the parameter out"
        elif "\x00" in str(value):
            status, detail = 422, "contains a NUL character: leave %00 out"
        if detail:
            raise Unreadable(
                f"{name[:80]}: {detail}", status=status, faults=[Fault(parameter=name[:80], detail=detail)]
            )
        seen.add(name)


async def _check_body(request: Request[Any, Any, Any]) -> None:
    field = request.route_handler.parsed_data_field
    body = await request.body()
    if field is None and body.strip() not in {b"", b"{}"}:
        raise Unreadable("this route takes no body: leave it out")
    if field is not None and not field.is_optional and not body:
        raise Unreadable("the request has no body: send JSON, as /schema/openapi.json has it")


@cache
def _decoder(expected: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(expected)


@cache
def _query_names(handler: Any) -> tuple[dict[str, bool], frozenset[str]]:
    """The query parameters that a route knows, and whether they may come more than once; which of them are any text."""
    names, texts = dict[str, bool](), set[str]()
    for field in parameters_of(handler).values():
        found = field.kwarg_definition
        if isinstance(found, QueryParameter) and found.name:
            names[found.name] = any(kind.is_non_string_collection for kind in (field, *field.inner_types))
            if any(kind.annotation is str for kind in (field, *field.inner_types)):
                texts.add(found.name)
    return names, frozenset(texts)


def _misfit(message: str, expected: Any) -> Unreadable:
    found = _PATH.match(message)
    what, path = (found["what"], found["path"]) if found else (message, "")
    steps = [step[0] or step[1] for step in _STEP.findall(path)]
    detail = what.replace("`", "")
    if "unknown field" in detail:
        detail += f"; the fields are {', '.join(_fields(expected, steps))}"
    place = ".".join(steps)
    pointer = "#" + "".join(f"/{step}" for step in steps)
    return Unreadable(f"{place}: {detail}" if place else detail, faults=[Fault(pointer=pointer, detail=detail)])


def _fields(expected: Any, steps: list[str]) -> list[str]:
    """The names that the structure at ``steps`` has."""
    struct = next((kind for kind in (expected, *get_args(expected)) if hasattr(kind, "__struct_fields__")), None)
    if struct is None:
        return []
    fields = {field.encode_name: field.type for field in msgspec.structs.fields(struct)}
    return _fields(fields.get(steps[0]), steps[1:]) if steps else list(fields)
