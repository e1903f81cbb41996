"""Routes for a restored or copied database: administrators preview what would fire, and then release the database."""

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
from pgsched.store.admin import installation_settings, recovery_preview
from pgsched.store.admin.ending_recovery import HoldPolicy, ReleasedInstallation
from pgsched.store.admin.recovery_preview import Called, Overdue, OverdueExecution

_WITHIN = 15.0
_CAREFULLY = {"skip_older_than": "PT1H", "rate": 50, "hold_clients": ["payments"], "note": "restored last night"}
_NAME = {"type": "string", "minLength": 1, "maxLength": 100}  # Litestar ignores constraints on a list's items
_STILL_HELD = ResponseSpec(
    ReleasedInstallation, generate_examples=False, description="Not finished yet: repeat the same request."
)


class Recovery(msgspec.Struct, frozen=True, kw_only=True):
    """Since when and why the installation is held (null if it is not), and what fires once it is released. ``calls``
    covers executions that are due now or within a day, but at most 20,000 of them."""

    held_since: datetime | None
    reason: str | None
    overdue: Sequence[Overdue]
    oldest: Sequence[OverdueExecution]
    calls: Sequence[Called]


class InstallationChanged(msgspec.Struct, frozen=True, kw_only=True):
    """``changed`` is false if the installation was already held."""

    changed: bool


class ReleasePolicy(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What to do before workers continue. If all fields are omitted, all due executions fire at once."""

    skip_older_than: (
        Annotated[Duration, Meta(description="Cancel executions that are overdue by more than this duration.")] | None
    ) = None
    rate: (
        Annotated[
            float, Meta(ge=0.001, le=100_000, description="Maximum number of overdue executions to fire per second.")
        ]
        | None
    ) = None
    hold_clients: Annotated[
        list[Annotated[str, Meta(min_length=1, max_length=100)]],
        Meta(max_length=100, description="Keep holding these clients.", extra_json_schema={"extra": {"items": _NAME}}),
    ] = []
    note: Annotated[str, Meta(max_length=1000, description="Reason, for the audit log.")] | None = None

    def policy(self, actor: str) -> HoldPolicy:
        age = None if self.skip_older_than is None else length_of(self.skip_older_than)
        return HoldPolicy(skip_older_than=age, rate=self.rate, held=self.hold_clients, note=self.note, actor=actor)


@reads("/recovery", "Preview what fires once the installation is released", scope="admin", everywhere=True)
async def get_recovery(database: Pooled) -> Recovery:
    """Workers hold an installation whose database was restored or copied. All due executions are counted, which may
    take several seconds."""
    async with database.page() as connection:
        found = await recovery_preview.preview(connection)
        state = await installation_settings.get_installation(connection)
    return Recovery(
        held_since=state.held_since, reason=state.reason, overdue=found.overdue, oldest=found.oldest, calls=found.calls
    )


@acts("/recovery/pause", "Pause the installation", scope="admin", everywhere=True)
async def pause_installation(database: Pooled, actor: Actor, data: Noted = None) -> InstallationChanged:
    """No execution starts in any queue until the installation is resumed. Running executions continue."""
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
        Body(examples=[Example(summary="Skip executions that are more than an hour overdue", value=_CAREFULLY)]),
    ] = None,
) -> Response[ReleasedInstallation]:
    """Holds the installation if it is not held, and releases it once the whole policy has been carried out. Workers
    cancel the skipped executions, so at least one worker must be running. After 15 seconds, the status is 202. Then
    repeat the request; finished steps stay done."""

    @asynccontextmanager
    async def lend() -> AsyncIterator[AsyncConnection[Any]]:
        async with database.connection() as connection, connection.transaction():
            yield connection

    policy = (data or ReleasePolicy()).policy(actor)
    done = await policy.carry_out(lend, cancels=False, within=_WITHIN)
    return Response(done, status_code=200 if done.released else 202)
