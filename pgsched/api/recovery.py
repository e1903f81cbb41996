"""What a restored or copied database would fire, and the end of its hold, for administrators."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Annotated, Any

import msgspec
from litestar import Response
from litestar.openapi.datastructures import ResponseSpec
from litestar.openapi.spec import Example
from litestar.params import Body, JSONBody
from msgspec import Meta
from psycopg import AsyncConnection

from pgsched.api.parameters import Actor, Duration, Noted, Pooled, note_in
from pgsched.api.routing import acts, problems, reads
from pgsched.domain.duration import length_of
from pgsched.store import verbs
from pgsched.store.admin import installation_settings, recovery
from pgsched.store.admin.ending_recovery import HoldPolicy, ReleasedInstallation
from pgsched.store.admin.recovery import Called, Overdue, OverdueExecution

_WITHIN = 15.0
_CAREFULLY = {"skip_older_than": "PT1H", "rate": 50, "hold_clients": ["payments"], "note": "restored from last night"}
_NAME = {"type": "string", "minLength": 1, "maxLength": 100}  # Litestar reads no bounds of a list's items
_STILL_HELD = ResponseSpec(
    ReleasedInstallation, generate_examples=False, description="Not all is done yet: ask again, as before."
)


class Recovery(msgspec.Struct, frozen=True, kw_only=True):
    """Since when and why nothing begins, null where it is not held; and what fires once it is released. calls is of
    what is due or comes within a day, as far as 20,000 executions tell."""

    held_since: datetime | None
    reason: str | None
    overdue: Sequence[Overdue]
    oldest: Sequence[OverdueExecution]
    calls: Sequence[Called]


class InstallationChanged(msgspec.Struct, frozen=True, kw_only=True):
    """``changed`` is false when it was held before."""

    changed: bool


class ReleasePolicy(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is done before workers go on. Where all is left out, everything that is due fires at once."""

    skip_older_than: Annotated[Duration, Meta(description="Cancel what was due longer ago than this.")] | None = None
    rate: (
        Annotated[float, Meta(ge=0.001, le=100_000, description="Most overdue executions to fire per second.")] | None
    ) = None
    hold_clients: Annotated[
        list[Annotated[str, Meta(min_length=1, max_length=100)]],
        Meta(max_length=100, description="Hold these clients.", extra_json_schema={"extra": {"items": _NAME}}),
    ] = []
    note: Annotated[str, Meta(max_length=1000, description="Reason, for the audit log.")] | None = None

    def policy(self, actor: str) -> HoldPolicy:
        age = None if self.skip_older_than is None else length_of(self.skip_older_than)
        return HoldPolicy(skip_older_than=age, rate=self.rate, held=self.hold_clients, note=self.note, actor=actor)


@reads("/recovery", "Preview what fires once the installation is released", scope="admin", everywhere=True)
async def get_recovery(database: Pooled) -> Recovery:
    """Workers hold an installation that was restored or copied. Everything that is due is counted, so this may take
    seconds."""
    async with database.page() as connection:
        found = await recovery.preview(connection)
        state = await installation_settings.get_installation(connection)
    return Recovery(
        held_since=state.held_since, reason=state.reason, overdue=found.overdue, oldest=found.oldest, calls=found.calls
    )


@acts("/recovery/pause", "Pause the installation", scope="admin", everywhere=True)
async def pause_installation(database: Pooled, actor: Actor, data: Noted = None) -> InstallationChanged:
    """Nothing starts in any queue until it is resumed; what runs continues."""
    changed = await database.ask(verbs.pause, "installation", note=note_in(data), actor=actor)
    return InstallationChanged(changed=changed)


@acts(
    "/recovery/resume",
    "Resume the installation under a policy",
    scope="admin",
    everywhere=True,
    responses={202: _STILL_HELD, **problems(409)},
)
async def resume_installation(
    database: Pooled,
    actor: Actor,
    data: Annotated[
        JSONBody[ReleasePolicy | None],
        Body(examples=[Example(summary="What is older than an hour is not called", value=_CAREFULLY)]),
    ] = None,
) -> Response[ReleasedInstallation]:
    """An installation that is not held is held first. It is released once the whole policy is carried out. Workers
    cancel what is skipped, so at least one must run. The status is 202 if this takes longer than 15 seconds: repeat the
    request; finished steps stay done."""

    @asynccontextmanager
    async def lend() -> AsyncIterator[AsyncConnection[Any]]:
        async with database.connection() as connection, connection.transaction():
            yield connection

    policy = (data or ReleasePolicy()).policy(actor)
    done = await policy.carry_out(lend, cancels=False, within=_WITHIN)
    return Response(done, status_code=200 if done.released else 202)
