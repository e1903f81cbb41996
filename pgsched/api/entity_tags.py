"""Entity tags (RFC 9110, section 8.8.3): the version of a job or an execution that somebody has read, and will not
change unless it is still that one, or fetch again.

A tag has two parts. The first is the version, of what can be changed; If-Match compares it alone, so that a run that
ends meanwhile refuses nobody's change. The second is a digest of all that is shown; If-None-Match compares both.
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
    HeaderParameter(name="If-Match", max_length=1000, description="The ETag with which it was read; or *."),
]
IfNoneMatch = Annotated[
    str | None,
    HeaderParameter(
        name="If-None-Match",
        max_length=1000,
        description="The ETag with which it was read: the answer is 304 while nothing of it has changed.",
    ),
]


def tagged(answer: _Answer, version: str, unless: str | None = None) -> Response[_Answer]:
    """The answer with its tag; or, where ``unless``, an If-None-Match, names it, 304 without the answer. The comparison
    is a weak one, as proxies that compress make weak tags of ours."""
    tag = f'"{version}-{_digest(answer)}"'
    given = () if unless is None else unless.split(",")
    if any(named.strip().removeprefix("W/") in ("*", tag) for named in given):
        nothing: Any = None
        return Response(nothing, status_code=304, headers={"ETag": tag})
    return Response(answer, headers={"ETag": tag})


def version_of_job(changed: datetime) -> str:
    """By when it was changed last."""
    return f"{int(changed.timestamp() * 1_000_000):x}"


def version_of_execution(row: Execution) -> str:
    """By all that can be changed of it. What gates and retries do to it makes no other version."""
    return _digest((row.id, row.target, row.payload, row.options, row.labels, row.scheduled_for))


def check_version(wanted: str | None, version: str) -> None:
    """Raises Unreadable with 412 unless the version is one of those that an If-Match names. It names no weak one: that
    could be of another version, too."""
    if wanted is None or wanted.strip() == "*":
        return
    if f'"{version}' not in [named.strip().partition("-")[0] for named in wanted.split(",")]:
        raise Unreadable("it was changed since: read it again, and send the ETag that it has now", status=412)


def _digest(content: Any) -> str:
    return hashlib.sha256(msgspec.json.encode(content)).hexdigest()[:32]
