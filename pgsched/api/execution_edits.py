"""Changing an execution that waits."""

from typing import Annotated, Any

import msgspec
from litestar import Response
from litestar.openapi.spec import Example
from litestar.params import Body
from msgspec import UNSET, Meta, UnsetType

from pgsched.api.bodies import Instant
from pgsched.api.executions import in_detail
from pgsched.api.parameters import Actor, ExecutionId, Pooled
from pgsched.api.routing import sets
from pgsched.api.versions import IfMatch, check_version, version_of_execution
from pgsched.responses import ExecutionDetail
from pgsched.store.schedule.edits import CHANGEABLE, changes_of, edit, read

_OTHERWISE = Example(
    summary="Another payload, an hour later",
    value={"payload": {"order": 43}, "fire_at": "2026-03-01T10:00:00Z"},
)


class EditExecution(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The changes. Fields that are left out stay as they are, null removes one; payload, options and labels are
    replaced as a whole."""

    target: str | UnsetType = UNSET
    payload: msgspec.Raw | UnsetType = UNSET
    options: dict[str, Any] | UnsetType | None = UNSET
    labels: dict[str, str] | UnsetType | None = UNSET
    fire_at: Instant | UnsetType = UNSET
    note: Annotated[str, Meta(max_length=1000, description="Reason, for the audit log.")] | None = None

    def changes(self) -> str:
        given = {name: getattr(self, name) for name in CHANGEABLE}
        return changes_of({name: value for name, value in given.items() if value is not UNSET})


Edit = Annotated[EditExecution, Body(examples=[_OTHERWISE])]


@sets("/executions/{execution_id:str}", "Change a waiting execution", 404, 409, 412, scope="schedule")
async def edit_execution(
    execution_id: ExecutionId, data: Edit, database: Pooled, actor: Actor, if_match: IfMatch = None
) -> Response[ExecutionDetail]:
    """Only a one-shot that has not started. One that waits for a retry can be given another fire_at, and nothing else.
    With If-Match, it is changed only if nobody has changed it since it was read."""
    changes = data.changes()
    async with database.connection() as connection, connection.transaction():
        if if_match is not None:
            await edit(connection, execution_id, "{}")  # which locks it
            check_version(if_match, version_of_execution(await read(connection, execution_id)))
        await edit(connection, execution_id, changes, note=data.note, actor=actor)
        return await in_detail(connection, await read(connection, execution_id))
