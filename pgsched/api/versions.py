"""Entity tags (RFC 9110, section 8.8.3): the version of a job or an execution that somebody has read, and will not
change unless it is still that one."""

import hashlib
from datetime import datetime
from typing import Annotated, TypeVar

import msgspec
from litestar import Response
from litestar.params import HeaderParameter

from pgsched.api.problems import Unreadable
from pgsched.store.lookup.rows import Execution

_Answer = TypeVar("_Answer")

IfMatch = Annotated[
    str | None,
    HeaderParameter(name="If-Match", max_length=1000, description="The ETag with which it was read; or *."),
]


def tagged(answer: _Answer, tag: str) -> Response[_Answer]:
    """The answer, with the tag of its version."""
    return Response(answer, headers={"ETag": tag})


def tag_of_job(changed: datetime) -> str:
    """By when it was changed last."""
    return f'"{int(changed.timestamp() * 1_000_000):x}"'


def tag_of_execution(row: Execution) -> str:
    """By all that can be changed of it. What gates and retries do to it makes no other version."""
    content = (row.id, row.target, row.payload, row.options, row.labels, row.scheduled_for)
    return f'"{hashlib.sha256(msgspec.json.encode(content)).hexdigest()[:32]}"'


def check_version(wanted: str | None, tag: str) -> None:
    """Raises Unreadable with 412 unless the version is one of those that an If-Match names. It names no weak one: that
    could be of another version, too."""
    if wanted is None or wanted.strip() == "*":
        return
    if tag not in [named.strip() for named in wanted.split(",")]:
        raise Unreadable("it was changed since: read it again, and send the ETag that it has now", status=412)
