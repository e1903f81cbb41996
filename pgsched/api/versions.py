"""Entity tags (RFC 9110, section 8.8.3): the version of a job that somebody has read, and will not change unless it is
still that one."""

from datetime import datetime
from typing import Annotated

from litestar import Response
from litestar.params import HeaderParameter

from pgsched.answers import JobDetail
from pgsched.api.problems import Unreadable

IfMatch = Annotated[
    str | None,
    HeaderParameter(name="If-Match", max_length=1000, description="The ETag with which the job was read; or *."),
]


def tagged(job: JobDetail) -> Response[JobDetail]:
    """The job, with the tag of its version."""
    return Response(job, headers={"ETag": tag_of(job.updated_at)})


def tag_of(changed: datetime) -> str:
    return f'"{int(changed.timestamp() * 1_000_000):x}"'


def check_version(wanted: str | None, changed: datetime) -> None:
    """Raises Unreadable with 412 unless the version is one of those that an If-Match names. It names no weak one: that
    could be of another version, too."""
    if wanted is None or wanted.strip() == "*":
        return
    if tag_of(changed) not in [tag.strip() for tag in wanted.split(",")]:
        raise Unreadable("the job was changed since: read it again, and send the ETag that it has now", status=412)
