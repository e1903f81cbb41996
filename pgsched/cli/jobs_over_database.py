"""What commands ask the database about jobs."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from pgsched.cli.settings_over_database import SettingsOverDatabase, does, pauses, resumes
from pgsched.domain.id_or_key import id_or_key
from pgsched.errors import NotFound
from pgsched.responses import Job, JobDetail, Page, Scheduled, job_detail, job_of, jobs_of
from pgsched.store import verbs
from pgsched.store.lookup.named import Kind, id_of
from pgsched.store.lookup.rows import EditPreview, JobFilter
from pgsched.store.schedule import calls
from pgsched.store.schedule.schedule_parameters import order_of


class JobsOverDatabase(SettingsOverDatabase):
    """What commands ask about jobs."""

    pause = pauses("job")
    resume = resumes("job")
    trigger = does(verbs.trigger)

    async def identify(self, kind: Kind, name: str, client: str | None = None) -> UUID:
        """The id of what is named by its id or its key."""
        return await id_of(self.connection, kind, id_or_key(name), None if client is None else [client])

    async def schedule(self, target: str, **given: Any) -> Scheduled:
        order = order_of(target, given | {"payload": text_of(given.get("payload"))})
        placed = await calls.schedule(self.connection, order)
        kind: Any = "job" if order.when.recurs else "execution"
        return Scheduled(id=placed.id, kind=kind, outcome=placed.outcome, fire_at=placed.fire_at)

    async def list_jobs(
        self, *, sort: str, limit: int, after: str | None, last_outcomes: int = 0, **wanted: Any
    ) -> Page[Job]:
        from pgsched.store.lookup import listings
        from pgsched.store.lookup.clauses import SortOrder

        how: Any = {"limit": limit, "after": self.place(after), "order": SortOrder(sort)}
        found = await listings.list_jobs(self.connection, JobFilter(**wanted), **how)
        last = await listings.last_outcomes(self.connection, [row.id for row in found.items], last_outcomes)
        items = jobs_of(found.items, last) if last_outcomes else list(map(job_of, found.items))
        return Page(items=items, next=None if found.next is None else str(found.next))

    async def get_job(self, id: UUID) -> JobDetail:
        """With the instant of the row that it waits with."""
        from pgsched.store.lookup import listings

        row = await listings.get_job(self.connection, id)
        if row is None:
            raise NotFound(f"there is no job {id}; see pgsched jobs list, and pgsched executions list for one-shots")
        planned, _ = await listings.planned_instant(self.connection, id)
        return job_detail(row, planned)

    async def change_job(self, id: UUID, changes: Mapping[str, Any], *, force: bool) -> tuple[bool, datetime | None]:
        """Whether anything is different now, and when it fires next."""
        from pgsched.store.jobs import edits
        from pgsched.store.lookup import listings

        asked = edits.changes_of(changes)
        is_changed = await edits.edit_job(self.connection, id, asked, actor=self.actor, force=force)
        planned, _ = await listings.planned_instant(self.connection, id)
        return is_changed, planned

    async def preview_job(
        self, id: UUID, changes: Mapping[str, Any], *, start: datetime | None, count: int
    ) -> EditPreview:
        from pgsched.store.jobs import edits

        return await edits.preview_job(self.connection, id, edits.changes_of(changes), start=start, count=count)

    async def cancel_job(self, id: UUID, *, note: str | None) -> bool:
        if not await calls.is_job(self.connection, id):
            raise NotFound(f"there is no job {id}; see pgsched jobs list, and pgsched executions cancel for one-shots")
        return await verbs.cancel(self.connection, id, note=note, actor=self.actor)


def text_of(payload: msgspec.Raw | None) -> str | None:
    """JSON text, as it was given."""
    return None if payload is None else bytes(payload).decode()
