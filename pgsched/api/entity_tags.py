"""ETags (RFC 9110, section 8.8.3) of jobs and executions.

An ETag has two parts: the version of the editable fields, and a digest of the whole response. If-Match compares only
the version, so an edit is not refused because a run has ended in the meantime. If-None-Match compares both parts.
"""

import hashlib
from datetime import datetime
from typing import Annotated, Any, TypeVar

import msgspec
from litestar import Response
from litestar.params import HeaderParameter

from pgsched.api.problems import Unreadable
from pgsched.store.lookup.row_types import Execution

_Answer = TypeVar("_Answer")

IfMatch = Annotated[
    str | None,
    HeaderParameter(name="If-Match", max_length=1000, description="The ETag that was read, or *."),
]
IfNoneMatch = Annotated[
    str | None,
    HeaderParameter(
        name="If-None-Match",
        max_length=1000,
        description="The ETag that was read; if nothing has changed since, the response is 304.",
    ),
]


def tagged(answer: _Answer, version: str, unless: str | None = None) -> Response[_Answer]:
    """Returns the response with its ETag, or 304 without a body if ``unless`` (If-None-Match) contains the ETag. The
    comparison is weak, because proxies that compress responses make our ETags weak."""
    tag = f'"{version}-{_digest(answer)}"'
    given = () if unless is None else unless.split(",")
    if any(named.strip().removeprefix("W/") in ("*", tag) for named in given):
        nothing: Any = None
        return Response(nothing, status_code=304, headers={"ETag": tag})
    return Response(answer, headers={"ETag": tag})


def version_of_job(changed: datetime) -> str:
    """Returns a job's version, which is derived from the time of its last change."""
    return f"{int(changed.timestamp() * 1_000_000):x}"


def version_of_execution(row: Execution) -> str:
    """Returns an execution's version, a digest of its editable fields. Gates and retries do not change the version."""
    return _digest((row.id, row.target, row.payload, row.options, row.labels, row.scheduled_for))


def check_version(wanted: str | None, version: str) -> None:
    """Raises Unreadable (412) unless ``wanted`` (If-Match) contains the version. Weak ETags never match, because one
    weak ETag can belong to several versions."""
    if wanted is None or wanted.strip() == "*":
        return
    if f'"{version}' not in [named.strip().partition("-")[0] for named in wanted.split(",")]:
        raise Unreadable("the object has changed since you read it: read it again, and send the new ETag", status=412)


def _digest(content: Any) -> str:
    return hashlib.sha256(msgspec.json.encode(content)).hexdigest()[:32]
